import { CancelledError, type Clock, onAbort, Slices } from '@csi-sidecars/base'
import { type MessageReader, type Resource, resourcePath } from '@csi-sidecars/kube-types'
import type { WatchFrame, WatchOptions } from './client.ts'
import { ACCEPT_PROTOBUF_STREAM, type Span } from './protobuf.ts'
import { query } from './request.ts'
import type { Transport } from './transport.ts'
import { WatchFeed } from './watch-feed.ts'
import { badFrame, frameOf, frameOfMessage } from './watch-frame.ts'

const MIN_TIMEOUT_S = 300
const MAX_TIMEOUT_S = 600
/** What the server may be late with ending the stream. */
const GRACE_MS = 30_000
/** Servers that send bookmarks send one about each minute to every watch. */
const BOOKMARK_SILENCE_MS = 180_000

/** One watch request and everything that comes of it, as `KubeClient.watch` promises. */
export async function* watchFrames<T>(
  transport: Transport,
  clock: Clock,
  resource: Resource<T>,
  options: WatchOptions<T>,
): AsyncGenerator<WatchFrame<T>, void, void> {
  const { signal, message, onChange } = options
  const timeoutS =
    options.timeoutSeconds ?? Math.floor(MIN_TIMEOUT_S + clock.random() * (MAX_TIMEOUT_S - MIN_TIMEOUT_S))
  const silenceMs = options.silenceMs ?? timeoutS * 1000 + GRACE_MS
  const path = resourcePath(resource, { namespace: options.namespace }) + watchQuery(options, timeoutS)
  const feed = new WatchFeed({ clock, silenceMs, onActivity: options.onActivity })
  const slices = new Slices(clock)
  let connection: Awaited<ReturnType<Transport['open']>> | undefined
  const ignoreAbort = onAbort(signal, () => feed.dispose())
  try {
    const accept = message === undefined ? undefined : ACCEPT_PROTOBUF_STREAM
    connection = await transport.open({ method: 'GET', path, resource, accept, options: { signal } }, feed)
    feed.control(connection)
    for (;;) {
      signal?.throwIfAborted()
      if (slices.over) await slices.pause(signal)
      const bytes = feed.shift()
      if (bytes !== undefined) {
        const frame = decodedFrame(bytes, message)
        if (frame.type === 'BOOKMARK') feed.expectWithin(BOOKMARK_SILENCE_MS)
        if (onChange !== undefined && frame.type !== 'BOOKMARK' && frame.type !== 'END') {
          onChange(frame)
          continue
        }
        yield frame
        if (frame.type === 'END') return
      } else if (feed.over === undefined) {
        await feed.changed()
      } else {
        yield feed.over
        return
      }
    }
  } finally {
    ignoreAbort()
    feed.dispose()
    connection?.destroy(new CancelledError('the watch is over'))
  }
}

function watchQuery(options: Omit<WatchOptions, 'message' | 'onChange'>, timeoutSeconds: number): string {
  const initial = options.sendInitialEvents === true
  return query({
    allowWatchBookmarks: true,
    fieldSelector: options.fieldSelector,
    labelSelector: options.labelSelector,
    resourceVersion: options.resourceVersion,
    ...(initial && { resourceVersionMatch: 'NotOlderThan', sendInitialEvents: true }),
    timeoutSeconds,
    watch: true,
  })
}

function decodedFrame<T>(frame: string | Span, message: MessageReader<T> | undefined): WatchFrame<T> {
  if (typeof frame === 'string') return frameOf<T>(frame)
  return message === undefined
    ? badFrame('no watch event: protobuf that was not asked for')
    : frameOfMessage(frame, message)
}

import { BatchTimer, type Clock, onAbort } from '@csi-sidecars/base'
import { type KubeObject, type MessageReader, type Resource, resourcePath } from '@csi-sidecars/kube-types'
import { query, type WatchFrame, type WatchOptions } from '../api/client.ts'
import { ACCEPT_PROTOBUF_STREAM, type ByteSpan } from '../codec/protobuf.ts'
import type { Transport } from '../requests/transport.ts'
import { badFrameEnd, decodeFrame, parseFrame } from './watch-frame.ts'
import { WatchStreams } from './watch-streams.ts'

const MIN_TIMEOUT_S = 300
const MAX_TIMEOUT_S = 600
/** The time that the server may take to end the stream after its limit. */
const SILENCE_GRACE_MS = 30_000

interface WatchSource {
  readonly transport: Transport
  readonly clock: Clock
}

/** Reads one watch, as `KubeClient.watch` promises. */
export async function* watchFrames<T>(
  source: WatchSource,
  resource: Resource<T>,
  options: WatchOptions<T>,
): AsyncGenerator<WatchFrame<T>, void, void> {
  const { signal, message, onChange } = options
  const streams = createStreams(source, resource, options)
  const batches = new BatchTimer(source.clock)
  const version = new ResumeVersion(options)
  const removeAbortListener = onAbort(signal, () => streams.feed.dispose())
  try {
    await streams.open()
    for (;;) {
      signal?.throwIfAborted()
      if (batches.isPauseDue) await batches.pause(signal)
      const { feed } = streams
      const bytes = feed.nextFrame()
      if (bytes !== undefined) {
        const frame = decodedFrame(bytes, message)
        const newVersion = version.after(frame)
        if (newVersion !== undefined) streams.advanceTo(newVersion)
        if (onChange !== undefined && frame.type !== 'BOOKMARK' && frame.type !== 'END') {
          onChange(frame)
          continue
        }
        yield frame
        if (frame.type === 'END') return
      } else if (feed.endFrame === undefined) {
        await feed.whenChanged()
      } else if (feed === streams.feed) {
        yield feed.endFrame
        return
      }
    }
  } finally {
    removeAbortListener()
    streams.close()
  }
}

function createStreams<T>(
  { transport, clock }: WatchSource,
  resource: Resource<T>,
  options: WatchOptions<T>,
): WatchStreams {
  const { signal, message, onActivity, namespace, sendInitialEvents, resourceVersion, optional } = options
  const timeoutS = Math.floor(MIN_TIMEOUT_S + clock.random() * (MAX_TIMEOUT_S - MIN_TIMEOUT_S))
  const accept = message === undefined ? undefined : ACCEPT_PROTOBUF_STREAM
  return new WatchStreams({
    clock,
    resumeVersion: sendInitialEvents === true ? undefined : resourceVersion,
    silenceMs: timeoutS * 1000 + SILENCE_GRACE_MS,
    signal,
    onActivity,
    open: (feed, streamSignal, after) => {
      const asked = after === undefined ? options : { ...options, sendInitialEvents: false, resourceVersion: after }
      const path = resourcePath(resource, { namespace }) + watchQuery(asked, timeoutS)
      return transport.open(
        { method: 'GET', path, resource, accept, options: { signal: streamSignal, optional } },
        feed,
      )
    },
    onResumed: (silentMs) => {
      const pairs = { resource: resource.plural, silent: `${Math.round(silentMs / 1000)}s` }
      transport.log.v(2)?.info('Watch was silent, continuing on a new connection', pairs)
    },
  })
}

/** The version up to which a watch was read. Versions are in no order until all existing objects have arrived. */
class ResumeVersion {
  #isOrdered: boolean
  readonly #streamsList: boolean

  constructor({
    resourceVersion,
    sendInitialEvents = false,
  }: Pick<WatchOptions, 'resourceVersion' | 'sendInitialEvents'>) {
    this.#streamsList = sendInitialEvents
    this.#isOrdered = resourceVersion !== undefined && !sendInitialEvents
  }

  /** Returns the version up to which the watch was read, including this frame. Undefined if it is not known. */
  after(frame: WatchFrame<unknown>): string | undefined {
    if (frame.type === 'END') return undefined
    if (frame.type === 'BOOKMARK') {
      this.#isOrdered ||= frame.initialEventsEnd || !this.#streamsList
      return this.#isOrdered ? frame.resourceVersion : undefined
    }
    return this.#isOrdered ? (frame.object as KubeObject).metadata?.resourceVersion : undefined
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

function decodedFrame<T>(frame: string | ByteSpan, message: MessageReader<T> | undefined): WatchFrame<T> {
  if (typeof frame === 'string') return parseFrame<T>(frame)
  return message === undefined
    ? badFrameEnd('no watch event: protobuf that was not asked for')
    : decodeFrame(frame, message)
}

import { Backoff, type Clock } from '@csi-sidecars/base'
import { isForbidden, type KubeClient } from '@csi-sidecars/kube-client'
import type { MessageReader, Resource } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'

export interface FollowOptions<W> {
  readonly client: Pick<KubeClient, 'watch'>
  readonly resource: Resource<W>
  readonly message: MessageReader<W>
  readonly name: string
  readonly clock: Clock
  readonly log: Logger
  /** Gets each state of the object. Of its deletion it hears nothing. */
  readonly onState: (object: W) => void
  readonly onActivity: () => void
}

const FIRST_PAUSE_MS = 800
const LONGEST_PAUSE_MS = 30_000

/**
 * Follows one object by name until the signal is aborted. Each watch begins with the current object, so no change
 * between two watches is missed.
 * The role needs `watch` only. An informer would also need `list` if the server does not support streaming lists.
 */
export async function follow<W>(options: FollowOptions<W>, signal: AbortSignal): Promise<void> {
  const { clock, log, resource, name } = options
  const pauses = new Backoff({
    initialMs: FIRST_PAUSE_MS,
    maxMs: LONGEST_PAUSE_MS,
    jitter: 1,
    random: () => clock.random(),
  })
  while (!signal.aborted) {
    try {
      if (await watchOnce(options, signal)) pauses.reset()
    } catch (error) {
      if (signal.aborted) return
      // The client logs a missing permission.
      if (!isForbidden(error)) log.error(error, 'Failed to watch', { resource: resource.plural, name })
    }
    await clock.sleep(pauses.next(), signal).catch(() => undefined)
  }
}

/** Watches until the stream ends. Returns whether the stream delivered anything. */
async function watchOnce<W>(options: FollowOptions<W>, signal: AbortSignal): Promise<boolean> {
  const { client, resource, message, name, onState, onActivity } = options
  const fieldSelector = `metadata.name=${name}`
  let heard = false
  for await (const frame of client.watch(resource, { fieldSelector, message, onActivity, signal })) {
    if (frame.type === 'END') break
    heard = true
    if (frame.type === 'ADDED' || frame.type === 'MODIFIED') onState(frame.object)
  }
  return heard
}

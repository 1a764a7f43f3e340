import { type Clock, exponential } from '@csi-sidecars/base'
import type { Controller, Outcome, Source } from '@csi-sidecars/controller'
import type { Informer, InformerEvent } from '@csi-sidecars/informer'
import type { VolumeAttachment } from '@csi-sidecars/kube-types'

/**
 * A write of ours that another writer has undone. It is written again at once the first time. If a controller or an
 * admission policy undoes it repeatedly, the pause doubles each time.
 */
export interface UndoneWrite {
  readonly repeats: number
  /** When it may be written again, in monotonic milliseconds. */
  readonly until: number
}

interface UndoneOptions {
  readonly backoff: Controller['backoff']
  readonly clock: Clock
}

/** Records that a write was undone just now. A writer that paused for the longest back-off counts as a new one. */
export function undoneAgain(last: UndoneWrite | undefined, { backoff, clock }: UndoneOptions): UndoneWrite {
  const { baseMs, maxMs } = backoff
  const now = clock.monotonic()
  const repeats = last !== undefined && now <= last.until + maxMs ? last.repeats + 1 : 0
  const pauseMs = repeats === 0 ? 0 : exponential({ initialMs: baseMs, maxMs }, repeats - 1)
  return { repeats, until: now + pauseMs }
}

/** Milliseconds until the write may be repeated; 0 if it may be at once. */
export function undoneWaitMs(undone: UndoneWrite | undefined, clock: Clock): number {
  return undone === undefined ? 0 : Math.max(0, undone.until - clock.monotonic())
}

export type UpdateEvent<T> = InformerEvent<T> & { readonly type: 'updated' }

/** Reports each write of ours that another writer undoes. It comes before the sources that add the object's key. */
export function undoneBy<T>(
  informer: Pick<Informer<T, never>, 'subscribe'>,
  isUndone: (event: UpdateEvent<T>) => boolean,
  onUndone: (object: T) => void,
): Source {
  return () =>
    informer.subscribe((event) => {
      if (event.type === 'updated' && isUndone(event)) onUndone(event.after)
    })
}

/** The text in the log. */
export const STATUS_REVERTED = 'somebody has set the status back'

/**
 * The outcome of a run whose status write was reverted. If the API server stored it first, it is written again at once.
 * If the API server did not store it, because a webhook drops it for example, it is retried with back-off.
 */
export function statusReverted({ status }: VolumeAttachment, cause: Error): Outcome {
  return { kind: status?.attached === true ? 'superseded' : 'retry', cause }
}

import { type Clock, isAbort } from '@csi-sidecars/base'
import type { Driver } from '@csi-sidecars/csi'
import type { Informer } from '@csi-sidecars/informer'
import type { Elector } from '@csi-sidecars/leader-election'

/** The right to act, while one process has it. */
export interface Lead {
  /** Take no more work; what runs may come to its end. */
  readonly stop: AbortSignal
  /** Whoever still works must give up now: the lease is lost, or the time to drain is over. Comes after `stop`. */
  readonly cut: AbortSignal
  /** Throws unless this process may act at this very moment. Call right before each call and each write. */
  readonly assertLeading: () => void
  /** Since when nobody else acts, in monotonic time. */
  readonly soleSince: number
}

/**
 * Waits until the caches miss nothing that an earlier leader has done: a standby's may lag behind, and what it would do
 * from them has been done, or undone, already. False when stopped before.
 */
export async function caughtUp(
  informers: readonly Pick<Informer<unknown, never>, 'caughtUp'>[],
  { stop, soleSince }: Lead,
): Promise<boolean> {
  try {
    await Promise.all(informers.map((informer) => informer.caughtUp(soleSince, stop)))
    return true
  } catch (error) {
    if (stop.aborted && isAbort(error)) return false
    throw error
  }
}

/** A cache that is filled on leader and standby alike. */
export interface Cache {
  /** What it holds, for people: `VolumeAttachments`. */
  readonly name: string
  readonly synced: boolean
  /** Milliseconds since anything was heard from the API server for it. */
  readonly silentForMs: number
  run(signal: AbortSignal): Promise<void>
}

/** An app that has started: connected to its driver, its controllers chosen, not yet at work. */
export interface Service {
  readonly driver: Driver
  readonly caches: readonly Cache[]
  /** Undefined without leader election: the process then leads for its whole life. */
  readonly elector: Elector | undefined
  /** Works until `lead.stop` is aborted and what runs has come to its end. */
  readonly lead: (lead: Lead) => Promise<void>
  /** Saves what is still to be told (events), closes what listens. Bounded by its signal. */
  readonly close: (signal: AbortSignal) => Promise<void>
}

/** An informer as a cache of the service. */
export function cacheOf(
  name: string,
  informer: Pick<Informer<unknown, never>, 'store' | 'run' | 'lastActivity'>,
  clock: Clock,
): Cache {
  return {
    name,
    get synced() {
      return informer.store.synced
    },
    get silentForMs() {
      return clock.monotonic() - informer.lastActivity
    },
    run: (signal) => informer.run(signal),
  }
}

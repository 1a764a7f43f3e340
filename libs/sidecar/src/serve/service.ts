import type { Lead } from '@csi-sidecars/controller'
import type { Driver } from '@csi-sidecars/csi'
import type { Elector } from '@csi-sidecars/leader-election'
import type { Cache } from './caches.ts'

/** One app at work: it competes for its own Lease. */
export interface Role {
  /** The app's. */
  readonly name: string
  /** Undefined without leader election: the app then leads for the whole life of the process. */
  readonly elector: Elector | undefined
  /** What it waits for, besides a connected driver, before it takes part in the election. */
  readonly eligible?: (signal: AbortSignal) => Promise<void>
  /** Resolves once `eligible` has found something to wait for, which may take long. */
  readonly waits?: Promise<void>
  /** Works until `lead.stop` is aborted and what runs has come to its end. */
  readonly lead: (lead: Lead) => Promise<void>
}

/** What has started: connected to its driver, its controllers chosen, not yet at work. */
export interface Service {
  readonly driver: Driver
  readonly caches: readonly Cache[]
  readonly roles: readonly Role[]
  /** Saves what is still to be reported (events), closes what listens. Bounded by its signal. */
  readonly close: (signal: AbortSignal) => Promise<void>
}

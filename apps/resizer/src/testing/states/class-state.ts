import type { PersistentVolume, PersistentVolumeClaim } from '@csi-sidecars/kube-types'
import type { ResizerClaim } from '../../caches/claim.ts'
import type { ResizerVolume } from '../../caches/volume.ts'
import { onClaim } from '../../modify/controller.ts'
import { decideModify } from '../../modify/decide.ts'
import type { Numbered } from './numbered.ts'

/** How far a run has come. */
export type ClassRunState =
  | { readonly phase: 'begin' }
  | { readonly phase: 'call' | 'saveVolume' | 'saveClaim'; readonly target: string }
  | { readonly phase: 'saveFailure'; readonly target: string; readonly kind: 'infeasible' | 'final' | 'uncertain' }

/** All facts that decide about one claim's class. Objects are numbers: see `Numbered`. */
export interface ClassState {
  /** The state of the API server. */
  readonly claim: number
  readonly pv: number
  /** The class that is not always there. */
  readonly bronze: boolean
  /** The state of the caches. A cache is late if it differs. */
  readonly seenClaim: number
  readonly seenPv: number
  /** The class of the volume in the storage back end. */
  readonly has: string
  /** The class that may be on its way behind the caller's back; empty for none. */
  readonly changing: string
  /** The memory of the process. */
  readonly uncertain: boolean
  readonly slow: boolean
  /** Its queue, and the class that the claim waits for there. */
  readonly queued: boolean
  readonly backoff: boolean
  readonly waitsFor: string
  readonly run: ClassRunState | undefined
  /** The forbidden action that has happened, if any. */
  readonly wrong: string | undefined
}

export interface ClassOptions {
  /** The classes that users request; empty means none. Bronze does not exist at first, and is created and deleted. */
  readonly classes: readonly string[]
  /** True if writes are refused, answers are lost and the process is killed. */
  readonly faults: boolean
  /** The real functions, unless a test breaks them. */
  readonly onClaim: typeof onClaim
  readonly decideModify: typeof decideModify
  /** True if a class that is created wakes the claims that wait for it. */
  readonly wakes: boolean
}

/** The real rules, and all that can go wrong. */
export const REAL: ClassOptions = { classes: ['gold', 'silver', ''], faults: true, onClaim, decideModify, wakes: true }

/** The objects that a run reads. */
export interface ClassObjects {
  readonly claims: Numbered<PersistentVolumeClaim, ResizerClaim>
  readonly volumes: Numbered<PersistentVolume, ResizerVolume>
  readonly options: ClassOptions
  /** The cache gets the state of the API server. The event may start a run. */
  seeClaim(state: ClassState, cause: 'watch' | 'own'): ClassState
  /** The next process knows only the state of the API server. */
  crashed(state: ClassState): ClassState
}

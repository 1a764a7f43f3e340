import type { PersistentVolume, PersistentVolumeClaim } from '@csi-sidecars/kube-types'
import type { ResizerClaim } from '../../caches/claim.ts'
import type { ResizerVolume } from '../../caches/volume.ts'
import { decideModify } from '../../modify/decide.ts'
import { onClaim } from '../../modify/triggers.ts'
import type { Numbered } from './numbered.ts'

/** The current step of a run. */
export type ClassRunState =
  | { readonly phase: 'begin' }
  | { readonly phase: 'call' | 'saveVolume' | 'saveClaim'; readonly target: string }
  | { readonly phase: 'saveFailure'; readonly target: string; readonly kind: 'infeasible' | 'final' | 'uncertain' }

/** The state of one claim's class. Objects are stored as numbers: see `Numbered`. */
export interface ClassState {
  /** The claim and the volume in the API server, by number. */
  readonly claim: number
  readonly pv: number
  /** True if the class bronze exists. */
  readonly bronze: boolean
  /** The cached claim and the cached volume, by number. A late cache contains older objects. */
  readonly seenClaim: number
  readonly seenPv: number
  /** The class of the volume in the storage back end. */
  readonly has: string
  /** The class that the back end may still be applying after a call without a definite result. Otherwise empty. */
  readonly changing: string
  /** The memory of the process: whether a modification may be running, and whether the driver has refused the class. */
  readonly uncertain: boolean
  readonly isRetriedRarely: boolean
  /** Whether the claim is queued, whether it is in a back-off, and the class that it waits for. */
  readonly queued: boolean
  readonly backoff: boolean
  readonly waitsFor: string
  readonly run: ClassRunState | undefined
  /** The rule that the resizer has violated, if any. */
  readonly wrong: string | undefined
}

/** The choices that limit the states of the model of a claim's class, and the functions under test. */
export interface ClassOptions {
  /** The classes that users request. The empty string means no class. Bronze is created and deleted by the model. */
  readonly classes: readonly string[]
  /** True if writes are refused, answers are lost and the process is killed. */
  readonly faults: boolean
  /** The resizer's functions, unless a test replaces them by broken versions. */
  readonly onClaim: typeof onClaim
  readonly decideModify: typeof decideModify
  /** True if a new class wakes the claims that wait for it. */
  readonly wakes: boolean
}

/** The options with the resizer's functions and all faults. */
export const REAL: ClassOptions = { classes: ['gold', 'silver', ''], faults: true, onClaim, decideModify, wakes: true }

/** The objects that a run reads. */
export interface ClassObjects {
  readonly claims: Numbered<PersistentVolumeClaim, ResizerClaim>
  readonly volumes: Numbered<PersistentVolume, ResizerVolume>
  readonly options: ClassOptions
  /** Updates the cache of claims from the API server. The event may start a run. */
  seeClaim(state: ClassState): ClassState
  /** Returns the state after a crash and a restart. The new process knows only the objects in the API server. */
  crashed(state: ClassState): ClassState
}

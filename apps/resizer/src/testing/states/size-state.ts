import type { PersistentVolume, PersistentVolumeClaim } from '@csi-sidecars/kube-types'
import type { ResizerClaim } from '../../caches/claim.ts'
import type { ResizerVolume } from '../../caches/volume.ts'
import { decideResize } from '../../resize/decide.ts'
import { onClaim, onVolume } from '../../resize/triggers.ts'
import type { Numbered } from './numbered.ts'

interface Begun {
  /** The claim after and before the patch that records the start, and the volume at the time of the decision. */
  readonly claim: number
  readonly before: number
  readonly pv: number
  readonly target: number
}

/** The current step of a run. */
export type SizeRunState =
  /** `pv` is the volume at the decision, after the annotation with the old size was removed. */
  | { readonly phase: 'begin'; readonly pv?: number }
  | ({ readonly phase: 'call' } & Begun)
  | ({ readonly phase: 'saveFailure'; readonly infeasible: boolean } & Begun)
  | ({ readonly phase: 'saveVolume' | 'saveClaim'; readonly nodeStep: boolean; readonly answer: number } & Begun)

/** The state of one claim's size. Objects are stored as numbers: see `Numbered`. */
export interface SizeState {
  /** The numbers of the claim and of the volume in the API server. */
  readonly claim: number
  readonly pv: number
  /** The numbers of the cached claim and of the cached volume. A late cache contains older objects. */
  readonly seenClaim: number
  readonly seenPv: number
  /** The size in the storage back end, in Gi. */
  readonly size: number
  /** True if the PersistentVolume has the capacity that an administrator has written. */
  readonly edited: boolean
  readonly editsLeft: number
  /** The size that the back end may still be applying after a call without a definite result; 0 if there is none. */
  readonly growing: number
  /** The memory of the process: whether the last expansion has failed for good, and whether the next one is delayed. */
  readonly finallyFailed: boolean
  readonly slow: boolean
  /** Whether the claim is queued, and which timer will enqueue it. */
  readonly queued: boolean
  readonly timer: 'none' | 'backoff' | 'slow'
  readonly run: SizeRunState | undefined
  /** The rule that the resizer has violated, if any. */
  readonly wrong: string | undefined
}

/** The choices that limit the states of the model of a claim's size, and the functions under test. */
export interface SizeOptions {
  /** Sizes that users ask for, in Gi. The volume begins with 1. */
  readonly sizes: readonly number[]
  /** The number of times that an administrator edits the capacity of the volume. */
  readonly edits: number
  /** True if the driver fails. */
  readonly failures: boolean
  /** True if writes are refused, answers are lost and the process is killed. */
  readonly faults: boolean
  /** The resizer's functions, unless a test replaces them by broken versions. */
  readonly onClaim: typeof onClaim
  readonly onVolume: typeof onVolume
  readonly decideResize: typeof decideResize
}

/** The options with the resizer's functions and all faults, but without edits of an administrator. */
export const REAL: SizeOptions = {
  sizes: [1, 2, 3],
  edits: 0,
  failures: true,
  faults: true,
  onClaim,
  onVolume,
  decideResize,
}

/** The objects that a run reads. */
export interface SizeObjects {
  readonly claims: Numbered<PersistentVolumeClaim, ResizerClaim>
  readonly volumes: Numbered<PersistentVolume, ResizerVolume>
  readonly options: SizeOptions
  /** Updates a cache from the API server. The event may start a run. */
  seeClaim(state: SizeState): SizeState
  seePv(state: SizeState): SizeState
  /** Returns the state after a crash and a restart. The new process knows only the objects in the API server. */
  crashed(state: SizeState): SizeState
}

/** Returns a size in whole GiB. */
export function giOf(text: string | undefined): number {
  return Number((text ?? '0').replace('Gi', ''))
}

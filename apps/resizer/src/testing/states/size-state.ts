import type { PersistentVolume, PersistentVolumeClaim } from '@csi-sidecars/kube-types'
import type { ResizerClaim } from '../../caches/claim.ts'
import type { ResizerVolume } from '../../caches/volume.ts'
import { decideResize } from '../../resize/decide.ts'
import { onClaim, onVolume } from '../../resize/triggers.ts'
import type { Numbered } from './numbered.ts'

interface Begun {
  /** The claim with the mark of the beginning and without it, the volume of the decision. */
  readonly claim: number
  readonly before: number
  readonly pv: number
  readonly target: number
}

/** How far a run has come. */
export type SizeRunState =
  /** `pv` is the volume of the decision, after its annotation has been dropped. */
  | { readonly phase: 'begin'; readonly pv?: number }
  | ({ readonly phase: 'call' } & Begun)
  | ({ readonly phase: 'saveFailure'; readonly infeasible: boolean } & Begun)
  | ({ readonly phase: 'saveVolume' | 'saveClaim'; readonly nodeStep: boolean; readonly answer: number } & Begun)

/** All facts that decide about one claim's size. Objects are numbers: see `Numbered`. */
export interface SizeState {
  /** The state of the API server. */
  readonly claim: number
  readonly pv: number
  /** The state of the caches. A cache is late if it differs. */
  readonly seenClaim: number
  readonly seenPv: number
  /** The size in the storage back end, in Gi. */
  readonly size: number
  /** The capacity of the PersistentVolume is as an administrator has edited it. */
  readonly edited: boolean
  readonly editsLeft: number
  /** The size that may be on its way behind the caller's back; 0 for none. */
  readonly growing: number
  /** The memory of the process. */
  readonly finallyFailed: boolean
  readonly slow: boolean
  /** Its queue. */
  readonly queued: boolean
  readonly timer: 'none' | 'backoff' | 'slow'
  readonly run: SizeRunState | undefined
  /** The forbidden action that has happened, if any. */
  readonly wrong: string | undefined
}

export interface SizeOptions {
  /** Sizes that users ask for, in Gi. The volume begins with 1. */
  readonly sizes: readonly number[]
  /** How often an administrator edits the capacity of the volume. */
  readonly edits: number
  /** True if the driver fails. */
  readonly failures: boolean
  /** True if writes are refused, answers are lost and the process is killed. */
  readonly faults: boolean
  /** The real functions, unless a test breaks them. */
  readonly onClaim: typeof onClaim
  readonly onVolume: typeof onVolume
  readonly decideResize: typeof decideResize
}

/** The real rules, and all that can go wrong but the administrator. */
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
  /** The cache gets the state of the API server. The event may start a run. */
  seeClaim(state: SizeState, cause: 'watch' | 'own'): SizeState
  seePv(state: SizeState, cause: 'watch' | 'own'): SizeState
  /** The next process knows only the state of the API server. */
  crashed(state: SizeState): SizeState
}

/** A size of a model, all of which are whole. */
export function giOf(text: string | undefined): number {
  return Number((text ?? '0').replace('Gi', ''))
}

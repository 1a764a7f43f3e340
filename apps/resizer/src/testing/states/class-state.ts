import type { PersistentVolume, PersistentVolumeClaim } from '@csi-sidecars/kube-types'
import type { Claim } from '../../caches/claim.ts'
import type { Volume } from '../../caches/volume.ts'
import { decideModify } from '../../modify/decide.ts'
import { onClaim } from '../../modify/triggers.ts'
import type { Numbered } from './numbered.ts'

/** How far a run has come. */
export type ClassRunState =
  | { readonly phase: 'begin' }
  | { readonly phase: 'call' | 'saveVolume' | 'saveClaim'; readonly target: string }
  | { readonly phase: 'saveFailure'; readonly target: string; readonly kind: 'infeasible' | 'final' | 'uncertain' }

/** All that decides about one claim's class. Objects are numbers: see `Numbered`. */
export interface ClassState {
  /** What the API server has. */
  readonly claim: number
  readonly pv: number
  /** The class that is not always there. */
  readonly bronze: boolean
  /** What the caches have. They are behind where it differs. */
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
  /** What has been done that must not be. */
  readonly wrong: string | undefined
}

export interface ClassOptions {
  /** Those that users want, empty for none. Bronze is not there at first, and comes and goes. */
  readonly classes: readonly string[]
  /** Whether writes are refused, answers are lost and the process is killed. */
  readonly faults: boolean
  /** Others than the real ones only where a test breaks them. */
  readonly onClaim: typeof onClaim
  readonly decideModify: typeof decideModify
  /** Whether a class that is created wakes the claims that wait for it. */
  readonly wakes: boolean
}

/** The real rules, and all that can go wrong. */
export const REAL: ClassOptions = { classes: ['gold', 'silver', ''], faults: true, onClaim, decideModify, wakes: true }

/** What a run needs of the objects around it. */
export interface ClassObjects {
  readonly claims: Numbered<PersistentVolumeClaim, Claim>
  readonly volumes: Numbered<PersistentVolume, Volume>
  readonly options: ClassOptions
  /** The cache learns what the API server has; the event may put the claim to work. */
  seeClaim(state: ClassState, cause: 'watch' | 'own'): ClassState
  /** The next process knows what the API server has, and nothing else. */
  crashed(state: ClassState): ClassState
}

import type { Reader } from '@csi-sidecars/informer'
import { type ProvisionerClaim, selectedNode } from '../caches/claim.ts'
import { type DecisionSettings, hasOurFinalizer, isOurs } from '../claims/decide.ts'
import type { ClaimMemory } from '../claims/memory.ts'

/** The caches and the memory that show whether a creation is running. */
export interface CreationFacts {
  readonly claims: { readonly store: Pick<Reader<ProvisionerClaim>, 'values'> }
  readonly memory: Pick<ClaimMemory, 'uncertainCalls' | 'hasRun'>
  readonly settings: DecisionSettings
}

/** Returns the UIDs of all claims that wait for a volume, and of all CreateVolume calls that may be running. */
export function* waitingClaims({ claims, memory, settings }: CreationFacts): Generator<string> {
  yield* memory.uncertainCalls.keys()
  for (const claim of claims.store.values()) {
    if (waitsForVolume(claim, settings)) yield claim.uid
  }
}

/**
 * Returns the UIDs of the claims for which a CreateVolume call may be running. A claim counts until its first run in
 * this process, because a call of an earlier process may be running. With `--node-deployment`, a claim of another node
 * always counts.
 */
export function* runningCreations({ claims, memory, settings }: CreationFacts): Generator<string> {
  yield* memory.uncertainCalls.keys()
  for (const claim of claims.store.values()) {
    if (!waitsForVolume(claim, settings)) continue
    const isElsewhere = settings.node !== undefined && selectedNode(claim) !== settings.node.name
    if (isElsewhere || hasOurFinalizer(claim, settings) || !memory.hasRun(claim.uid)) yield claim.uid
  }
}

function waitsForVolume(claim: ProvisionerClaim, settings: DecisionSettings): boolean {
  if (claim.requestedVolume === undefined) return false
  return hasOurFinalizer(claim, settings) || (claim.volumeName === '' && isOurs(claim, settings))
}

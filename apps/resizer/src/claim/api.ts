import { messageOf } from '@csi-sidecars/base'
import { isNotFound, isOutcomeUnknown, type RequestPriority } from '@csi-sidecars/kube-client'
import { namespacedRef, type Patch, PERSISTENT_VOLUME_CLAIMS } from '@csi-sidecars/kube-types'
import { projectClaim, type ResizerClaim } from '../caches/claim.ts'
import type { ResizerClaimDeps, ResizerClaimRun } from './run.ts'

/** The maximum number of attempts to patch a claim in one run, if other writers keep changing the claim. */
export const CONFLICT_TRIES = 5

/** Patches the claim's status. Caches and returns the patched claim. */
export async function patchClaim(
  run: ResizerClaimRun<ResizerClaimDeps>,
  patch: Patch,
  priority?: RequestPriority,
): Promise<ResizerClaim> {
  const { key, deps, signal } = run
  const options = { signal, subresource: 'status', priority }
  try {
    const saved = await deps.api.patch(PERSISTENT_VOLUME_CLAIMS, namespacedRef(key), patch, options)
    deps.claims.storeAnswer(saved)
    return projectClaim(saved)
  } catch (error) {
    if (isOutcomeUnknown(error)) deps.claimsWithLostAnswer.add(key)
    throw error
  }
}

/**
 * Reads the claim again if the answer to its last write was lost, because the claim must record each call before the
 * driver gets it. The client only delays the next write until such a read, but a claim whose modification is in progress
 * needs no write before the call. Returns the error if the read fails.
 */
export async function confirmLastWrite({
  key,
  deps,
  signal,
}: ResizerClaimRun<ResizerClaimDeps>): Promise<Error | undefined> {
  const { api, claims, claimsWithLostAnswer } = deps
  if (!claimsWithLostAnswer.has(key)) return undefined
  try {
    claims.storeAnswer(await api.get(PERSISTENT_VOLUME_CLAIMS, namespacedRef(key), { signal }))
  } catch (error) {
    signal.throwIfAborted()
    if (!isNotFound(error)) return new Error(`cannot read pvc "${key}" again: ${messageOf(error)}`, { cause: error })
  }
  claimsWithLostAnswer.delete(key)
  return undefined
}

/** Returns the newest known state of the claim. Undefined if the claim is gone or was recreated. */
export function cachedClaimOf(
  { key, deps }: ResizerClaimRun<ResizerClaimDeps>,
  { uid }: Pick<ResizerClaim, 'uid'>,
): ResizerClaim | undefined {
  const cached = deps.claims.store.get(key)
  return cached?.uid === uid ? cached : undefined
}

/** Reports whether the cache still has the claim with this UID. */
export function isStillCached(run: ResizerClaimRun<ResizerClaimDeps>, claim: Pick<ResizerClaim, 'uid'>): boolean {
  return cachedClaimOf(run, claim) !== undefined
}

/** Reads the claim into the cache after a conflict, so that the next patch is built from the current claim. */
export async function readClaimIntoCache({ key, deps, log, signal }: ResizerClaimRun<ResizerClaimDeps>): Promise<void> {
  try {
    deps.claims.storeAnswer(await deps.api.get(PERSISTENT_VOLUME_CLAIMS, namespacedRef(key), { signal }))
  } catch (error) {
    signal.throwIfAborted()
    // The error does not end the run. If the API server stays unavailable, the next patch ends it.
    log.v(4)?.info('The claim could not be read again', { err: error })
  }
}

/** Returns the error text of the Go resizer, which has two blanks after "of". */
export function patchFailureText(key: string, cause: unknown): string {
  return `can't patch status of  PVC ${key} with ${messageOf(cause)}`
}

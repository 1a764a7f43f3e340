import { isConflict, isNotFound } from '@csi-sidecars/kube-client'
import { PERSISTENT_VOLUME_CLAIMS, type PersistentVolumeClaim } from '@csi-sidecars/kube-types'
import { type Claim, claimRef } from '../caches/claim.ts'
import { SELECTED_NODE } from '../caches/names.ts'
import type { ClaimRun } from './run.ts'

type EditRun = Pick<ClaimRun, 'deps' | 'signal' | 'enter'>

/** A changed claim; the same object if nothing has to change. */
export type ClaimEdit = (pvc: PersistentVolumeClaim) => PersistentVolumeClaim

const CONFLICT_TRIES = 5

/**
 * Changes the stored claim by a PUT, because published roles of provisioners have no right to patch claims. Returns
 * false if the claim is gone or replaced.
 */
export async function editClaim(run: EditRun, claim: Claim, edit: ClaimEdit): Promise<boolean> {
  const { deps, signal } = run
  run.enter('writing')
  for (let left = CONFLICT_TRIES; ; left -= 1) {
    try {
      const stored = await deps.api.get(PERSISTENT_VOLUME_CLAIMS, claimRef(claim), { signal })
      if (stored.metadata?.uid !== claim.uid) return false
      const edited = edit(stored)
      deps.claims.learn(
        edited === stored ? stored : await deps.api.replace(PERSISTENT_VOLUME_CLAIMS, edited, { signal }),
      )
      return true
    } catch (error) {
      signal.throwIfAborted()
      if (isNotFound(error)) return false
      if (!isConflict(error) || left <= 1) throw error
    }
  }
}

export function withFinalizer(name: string): ClaimEdit {
  return (pvc) => {
    const finalizers = pvc.metadata?.finalizers ?? []
    // The server refuses new finalizers on an object in deletion.
    if (finalizers.includes(name) || pvc.metadata?.deletionTimestamp != null) return pvc
    return { ...pvc, metadata: { ...pvc.metadata, finalizers: [...finalizers, name] } }
  }
}

export function withoutFinalizer(name: string): ClaimEdit {
  return (pvc) => {
    const finalizers = pvc.metadata?.finalizers ?? []
    if (!finalizers.includes(name)) return pvc
    return { ...pvc, metadata: { ...pvc.metadata, finalizers: finalizers.filter((each) => each !== name) } }
  }
}

export const withoutSelectedNode: ClaimEdit = (pvc) => {
  const { [SELECTED_NODE]: node, ...annotations } = pvc.metadata?.annotations ?? {}
  return node === undefined ? pvc : { ...pvc, metadata: { ...pvc.metadata, annotations } }
}

export function both(first: ClaimEdit, second: ClaimEdit): ClaimEdit {
  return (pvc) => second(first(pvc))
}

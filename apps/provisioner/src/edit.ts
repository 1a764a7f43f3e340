import { updateLatest } from '@csi-sidecars/controller'
import type { Informer } from '@csi-sidecars/informer'
import { isNotFound, type KubeClient } from '@csi-sidecars/kube-client'
import { namespacedRef, PERSISTENT_VOLUME_CLAIMS, type PersistentVolumeClaim } from '@csi-sidecars/kube-types'
import type { ProvisionerClaim } from './caches/claim.ts'
import { SELECTED_NODE } from './caches/names.ts'

export interface EditOptions {
  readonly api: Pick<KubeClient, 'get' | 'replace'>
  readonly claims: Pick<Informer<ProvisionerClaim, PersistentVolumeClaim>, 'storeOwnWrite'>
  readonly signal: AbortSignal
  /** The maximum number of attempts if other clients change the claim at the same time. Default: 5. */
  readonly tries?: number
}

/** Returns the changed claim, or the same object if there is nothing to change. */
export type ClaimEdit = (pvc: PersistentVolumeClaim) => PersistentVolumeClaim

const CONFLICT_TRIES = 5

/**
 * Changes the stored claim by a PUT, because published roles of provisioners have no right to patch claims. Returns
 * false if the claim was deleted or recreated.
 */
export async function editClaim(options: EditOptions, claim: ProvisionerClaim, edit: ClaimEdit): Promise<boolean> {
  const { api, claims, signal, tries = CONFLICT_TRIES } = options
  const readClaim = async (): Promise<PersistentVolumeClaim | undefined> => {
    const stored = await api.get(PERSISTENT_VOLUME_CLAIMS, namespacedRef(claim.key), { signal })
    return stored.metadata?.uid === claim.uid ? stored : undefined
  }
  try {
    const result = await updateLatest({
      tries,
      latest: readClaim,
      build(stored) {
        const edited = edit(stored)
        return edited === stored ? undefined : edited
      },
      send: async (edited) => claims.storeOwnWrite(await api.replace(PERSISTENT_VOLUME_CLAIMS, edited, { signal })),
    })
    return result.kind !== 'gone'
  } catch (error) {
    signal.throwIfAborted()
    if (isNotFound(error)) return false
    throw error
  }
}

export function withFinalizer(name: string): ClaimEdit {
  return (pvc) => {
    const finalizers = pvc.metadata?.finalizers ?? []
    // The API server refuses new finalizers on an object that is being deleted.
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

/** Selects the node, unless a node is already selected. */
export function withSelectedNode(node: string): ClaimEdit {
  return (pvc) => {
    const { annotations } = pvc.metadata ?? {}
    if (annotations?.[SELECTED_NODE]) return pvc
    return { ...pvc, metadata: { ...pvc.metadata, annotations: { ...annotations, [SELECTED_NODE]: node } } }
  }
}

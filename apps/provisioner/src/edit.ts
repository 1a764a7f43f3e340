import { addFinalizer, type FinalizedObject, removeFinalizer, updateLatest } from '@csi-sidecars/controller'
import type { Informer } from '@csi-sidecars/informer'
import { isNotFound, type KubeClient } from '@csi-sidecars/kube-client'
import {
  namespacedRef,
  PERSISTENT_VOLUME_CLAIMS,
  type PersistentVolumeClaim,
  withFinalizer,
  withoutFinalizer,
} from '@csi-sidecars/kube-types'
import type { ProvisionerClaim } from './caches/claim.ts'
import { SELECTED_NODE } from './caches/names.ts'

/** Everything that a change of a stored claim needs. */
export interface EditOptions {
  readonly api: Pick<KubeClient, 'get' | 'replace'>
  readonly claims: Pick<Informer<ProvisionerClaim, PersistentVolumeClaim>, 'storeOwnWrite'>
  readonly signal: AbortSignal
  /** The maximum number of attempts if other clients change the claim. Default: 5. */
  readonly tries?: number
}

/** Returns the changed claim, or the same object if there is nothing to change. */
export type ClaimEdit = (pvc: PersistentVolumeClaim) => PersistentVolumeClaim

/** The finalizer to add, and the node that the claim must still have. */
export interface ClaimFinalizerAddition {
  readonly finalizer: string
  /** The required selected node of the claim. Undefined: any node. */
  readonly node?: string | undefined
}

const CONFLICT_TRIES = 5

/** The finalizer to remove, and the check right before the write. */
export interface ClaimFinalizerRemoval {
  readonly finalizer: string
  /** Reports whether nothing needs the finalizer. Asked after each read of the claim. Default: nothing needs it. */
  readonly isCleanedUp?: () => boolean
}

/**
 * Changes the stored claim by a PUT, because published roles of provisioners have no right to patch claims. Returns
 * false if the claim was deleted or recreated.
 */
export async function editClaim(options: EditOptions, claim: ProvisionerClaim, edit: ClaimEdit): Promise<boolean> {
  const update = updateLatest({ ...writesOf(options, claim), build: (stored) => unlessSame(stored, edit(stored)) })
  const { kind } = await unlessDeleted(update, options)
  return kind !== 'gone'
}

/**
 * Adds the finalizer to the stored claim. `deleting`: the claim is being deleted, and the API server refuses new
 * finalizers, or its selected node is not `node`. `gone`: the claim was deleted or recreated.
 */
export async function addClaimFinalizer(
  options: EditOptions,
  claim: ProvisionerClaim,
  { finalizer, node }: ClaimFinalizerAddition,
): ReturnType<typeof addFinalizer> {
  const addition = addFinalizer({
    ...writesOf(options, claim),
    hasFinalizer: (stored) => hasFinalizer(stored, finalizer),
    isDeleting: ({ metadata }) =>
      metadata?.deletionTimestamp != null || (node !== undefined && metadata?.annotations?.[SELECTED_NODE] !== node),
    add: (stored) => unlessSame(stored, withFinalizer(stored, finalizer)),
  })
  return await unlessDeleted(addition, options)
}

/** Removes the finalizer from the stored claim, unless something needs it. */
export async function removeClaimFinalizer(
  options: EditOptions,
  claim: ProvisionerClaim,
  { finalizer, ...cleanUp }: ClaimFinalizerRemoval,
): Promise<void> {
  const removal = removeFinalizer({
    ...writesOf(options, claim),
    ...cleanUp,
    hasFinalizer: (stored) => hasFinalizer(stored, finalizer),
    remove: (stored) => withoutFinalizer(stored, finalizer),
  })
  await unlessDeleted(removal, options)
}

type ClaimWrites = Omit<FinalizedObject<PersistentVolumeClaim, PersistentVolumeClaim, unknown>, 'hasFinalizer'>

/** Returns how the stored claim is read and written: it is read before each write. */
function writesOf({ api, claims, signal, tries = CONFLICT_TRIES }: EditOptions, claim: ProvisionerClaim): ClaimWrites {
  return {
    tries,
    async latest() {
      const stored = await api.get(PERSISTENT_VOLUME_CLAIMS, namespacedRef(claim.key), { signal })
      return stored.metadata?.uid === claim.uid ? stored : undefined
    },
    send: async (edited) => claims.storeOwnWrite(await api.replace(PERSISTENT_VOLUME_CLAIMS, edited, { signal })),
  }
}

/** Returns `gone` if the claim was deleted before the read or the write. */
async function unlessDeleted<T>(result: Promise<T>, { signal }: EditOptions): Promise<T | { readonly kind: 'gone' }> {
  try {
    return await result
  } catch (error) {
    signal.throwIfAborted()
    if (isNotFound(error)) return { kind: 'gone' }
    throw error
  }
}

function unlessSame<T>(before: T, after: T): T | undefined {
  return after === before ? undefined : after
}

function hasFinalizer({ metadata }: PersistentVolumeClaim, finalizer: string): boolean {
  return metadata?.finalizers?.includes(finalizer) === true
}

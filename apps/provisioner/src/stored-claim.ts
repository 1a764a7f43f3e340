import {
  type AddedFinalizer,
  addFinalizer,
  type FinalizedObject,
  removeFinalizer,
  updateLatest,
} from '@csi-sidecars/controller'
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
export interface StoredClaimOptions {
  readonly api: Pick<KubeClient, 'get' | 'replace'>
  readonly claims: Pick<Informer<ProvisionerClaim, PersistentVolumeClaim>, 'storeAnswer'>
  readonly signal: AbortSignal
}

/** Returns the changed claim, or the same object if there is nothing to change. */
export type ClaimEdit = (pvc: PersistentVolumeClaim) => PersistentVolumeClaim

/** The finalizer to add, and the node that the claim must still have. */
export interface ClaimFinalizerAddition {
  readonly finalizer: string
  /** The required selected node of the claim. Undefined: any node. */
  readonly node?: string | undefined
}

/** The finalizer to remove, and the check right before the write. */
export interface ClaimFinalizerRemoval {
  readonly finalizer: string
  /** Reports, after each read, whether nothing needs the finalizer. Default: true. */
  readonly isCleanedUp?: () => boolean
}

/** The default of the largest number of tries of a write if other clients change the claim at the same time. */
const CONFLICT_TRIES = 5

type ClaimWrites = Omit<FinalizedObject<PersistentVolumeClaim, PersistentVolumeClaim, unknown>, 'hasFinalizer'>

/**
 * One claim in the API server.
 *
 * Guarantees: each write is built from a claim that was just read, and is a PUT with its version, because published roles
 * of provisioners have no right to patch claims. A recreated claim is never written.
 */
export class StoredClaim {
  readonly #claim: Pick<ProvisionerClaim, 'key' | 'uid'>
  readonly #options: StoredClaimOptions

  constructor(claim: Pick<ProvisionerClaim, 'key' | 'uid'>, options: StoredClaimOptions) {
    this.#claim = claim
    this.#options = options
  }

  /** Changes the claim. Returns false if the claim was deleted or recreated. */
  async edit(change: ClaimEdit, { tries = CONFLICT_TRIES }: { readonly tries?: number } = {}): Promise<boolean> {
    const writes = { ...this.#writes(), tries }
    const update = updateLatest({ ...writes, build: (stored) => unlessSame(stored, change(stored)) })
    const { kind } = await this.#unlessDeleted(update)
    return kind !== 'gone'
  }

  /**
   * Adds the finalizer. `deleting`: the claim is being deleted, and the API server refuses new finalizers, or its
   * selected node is not `node`. `gone`: the claim was deleted or recreated.
   */
  async addFinalizer({ finalizer, node }: ClaimFinalizerAddition): Promise<AddedFinalizer<unknown>> {
    const addition = addFinalizer({
      ...this.#writes(),
      hasFinalizer: (stored) => hasFinalizer(stored, finalizer),
      isDeleting: ({ metadata }) =>
        metadata?.deletionTimestamp != null || (node !== undefined && metadata?.annotations?.[SELECTED_NODE] !== node),
      add: (stored) => unlessSame(stored, withFinalizer(stored, finalizer)),
    })
    return await this.#unlessDeleted(addition)
  }

  /** Removes the finalizer, unless something needs it. */
  async removeFinalizer({ finalizer, ...cleanUp }: ClaimFinalizerRemoval): Promise<void> {
    const removal = removeFinalizer({
      ...this.#writes(),
      ...cleanUp,
      hasFinalizer: (stored) => hasFinalizer(stored, finalizer),
      remove: (stored) => withoutFinalizer(stored, finalizer),
    })
    await this.#unlessDeleted(removal)
  }

  /** Returns how the claim is read and written: it is read before each write. */
  #writes(): ClaimWrites {
    const { api, claims, signal } = this.#options
    const { key, uid } = this.#claim
    return {
      tries: CONFLICT_TRIES,
      async latest() {
        const stored = await api.get(PERSISTENT_VOLUME_CLAIMS, namespacedRef(key), { signal })
        return stored.metadata?.uid === uid ? stored : undefined
      },
      send: async (edited) => claims.storeAnswer(await api.replace(PERSISTENT_VOLUME_CLAIMS, edited, { signal })),
    }
  }

  /** Returns `gone` if the claim was deleted before the read or the write. */
  async #unlessDeleted<T>(result: Promise<T>): Promise<T | { readonly kind: 'gone' }> {
    try {
      return await result
    } catch (error) {
      this.#options.signal.throwIfAborted()
      if (isNotFound(error)) return { kind: 'gone' }
      throw error
    }
  }
}

function unlessSame<T>(before: T, after: T): T | undefined {
  return after === before ? undefined : after
}

function hasFinalizer({ metadata }: PersistentVolumeClaim, finalizer: string): boolean {
  return metadata?.finalizers?.includes(finalizer) === true
}

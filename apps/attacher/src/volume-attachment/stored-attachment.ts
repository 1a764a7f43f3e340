import {
  type AddedFinalizer,
  addFinalizer,
  type FinalizedObject,
  type RemovedFinalizer,
  removeFinalizer,
} from '@csi-sidecars/controller'
import type { Informer } from '@csi-sidecars/informer'
import {
  type RequestOptions as ApiOptions,
  isMissing,
  isNotFound,
  type KubeClient,
  type SubresourceOption,
} from '@csi-sidecars/kube-client'
import { type Patch, VOLUME_ATTACHMENTS, type VolumeAttachment } from '@csi-sidecars/kube-types'
import type { CachedAttachment } from '../caches/attachment.ts'
import { AttachmentGoneError } from './failure.ts'
import { addFinalizerPatch, type PublishRecord, removeFinalizerPatch, restoreFinalizerPatch } from './patches.ts'

/** The largest number of tries of a patch whose object other writers keep changing. */
const TRIES = 3

type PatchOptions = Pick<ApiOptions & SubresourceOption, 'priority' | 'subresource'>
type Change = (va: CachedAttachment) => Patch | undefined

interface StoredAttachmentOptions {
  readonly api: KubeClient
  readonly attachments: Pick<Informer<CachedAttachment, VolumeAttachment>, 'storeAnswer' | 'store'>
  readonly signal: AbortSignal
}

/**
 * One VolumeAttachment in the API server.
 *
 * Guarantees: each patch is built from the newest known state, because other writers may have changed the attachment
 * during a call to the driver. A patch of the finalizers tests them. After a conflict the attachment is read and the
 * patch is built again.
 *
 * Errors: throws AttachmentGoneError if the attachment was deleted or recreated.
 */
export class StoredAttachment {
  readonly #options: StoredAttachmentOptions
  /** The attachment in the last answer to this run. Initially, the cached attachment. */
  #lastAnswer: CachedAttachment

  constructor(va: CachedAttachment, options: StoredAttachmentOptions) {
    this.#lastAnswer = va
    this.#options = options
  }

  /** The attachment in the last answer to this run. Initially, the cached attachment. */
  get lastAnswer(): CachedAttachment {
    return this.#lastAnswer
  }

  /** The cached state. `lastAnswer` if the cache has no attachment with this UID. */
  get newest(): CachedAttachment {
    const cached = this.#options.attachments.store.get(this.#lastAnswer.key)
    return cached?.uid === this.#lastAnswer.uid ? cached : this.#lastAnswer
  }

  /** True also if the cache has a recreated attachment, which has another UID. */
  get hasLeftCache(): boolean {
    return this.#options.attachments.store.get(this.#lastAnswer.key)?.uid !== this.#lastAnswer.uid
  }

  /** Reports whether the API server no longer has the attachment. False without an answer. */
  async isGone(): Promise<boolean> {
    if (this.hasLeftCache) return true
    const { signal } = this.#options
    try {
      return (await this.#read()) !== this.#lastAnswer.uid
    } catch (error) {
      signal.throwIfAborted()
      return isNotFound(error)
    }
  }

  /** Adds our finalizer, and what a detach needs to know of the publish. */
  async addFinalizer(record: PublishRecord): Promise<AddedFinalizer<VolumeAttachment>> {
    return await this.#addFinalizer(record.finalizer, (va) => addFinalizerPatch(va, record))
  }

  /** Adds our finalizer again after another writer has removed it. */
  async restoreFinalizer(finalizer: string): Promise<AddedFinalizer<VolumeAttachment>> {
    return await this.#addFinalizer(finalizer, (va) => restoreFinalizerPatch(va, finalizer))
  }

  async removeFinalizer(finalizer: string): Promise<RemovedFinalizer<VolumeAttachment>> {
    return await removeFinalizer({ ...this.#finalized(finalizer), remove: (va) => removeFinalizerPatch(va, finalizer) })
  }

  /** Patches the status. Returns undefined if there is nothing to write. */
  async writeStatus(
    build: Change,
    options: Pick<PatchOptions, 'priority'> = {},
  ): Promise<VolumeAttachment | undefined> {
    const patch = build(this.newest)
    return patch && (await this.#send(patch, { ...options, subresource: 'status' }))
  }

  /**
   * Returns low priority for the requests of a run that has failed before. Thousands of failing runs would use up
   * `--kube-api-qps` and delay all other writes.
   */
  priorityOf(operation: 'attach' | 'detach'): Pick<PatchOptions, 'priority'> {
    const { attachError, detachError } = this.newest
    return (operation === 'attach' ? attachError : detachError) === undefined ? {} : { priority: 'low' }
  }

  async #addFinalizer(finalizer: string, add: Change): Promise<AddedFinalizer<VolumeAttachment>> {
    return await addFinalizer({ ...this.#finalized(finalizer), isDeleting: ({ deleting }) => deleting, add })
  }

  #finalized(finalizer: string): FinalizedObject<CachedAttachment, Patch, VolumeAttachment> {
    return {
      tries: TRIES,
      hasFinalizer: ({ finalizers }) => finalizers?.includes(finalizer) === true,
      latest: () => this.newest,
      send: (patch) => this.#send(patch),
      refresh: () => this.#refresh(),
    }
  }

  async #send(patch: Patch, options: PatchOptions = {}): Promise<VolumeAttachment> {
    const { api, signal } = this.#options
    const { key } = this.#lastAnswer
    try {
      const saved = await api.patch(VOLUME_ATTACHMENTS, { name: key }, patch, { signal, ...options })
      this.#store(saved)
      return saved
    } catch (error) {
      if (isMissing(error) && (await this.isGone())) throw new AttachmentGoneError(key, { cause: error })
      throw error
    }
  }

  /** Reads the attachment after a conflict. The next patch is built from it. */
  async #refresh(): Promise<void> {
    const { key, uid } = this.#lastAnswer
    const uidNow = await this.#read().catch((error: unknown) => {
      throw isNotFound(error) ? new AttachmentGoneError(key, { cause: error }) : error
    })
    if (uidNow !== uid) throw new AttachmentGoneError(key)
  }

  /** Reads the attachment with this name, and returns its UID. */
  async #read(): Promise<string | undefined> {
    const { api, signal } = this.#options
    const now = await api.get(VOLUME_ATTACHMENTS, { name: this.#lastAnswer.key }, { signal })
    this.#store(now)
    return now.metadata?.uid
  }

  #store(answer: VolumeAttachment): void {
    const cached = this.#options.attachments.storeAnswer(answer)
    // The answer or the cache may show an attachment that was recreated under the same name.
    if (cached?.uid === this.#lastAnswer.uid) this.#lastAnswer = cached
  }
}

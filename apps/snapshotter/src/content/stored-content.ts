import { type FinalizedObject, removeFinalizer, updateLatest } from '@csi-sidecars/controller'
import type { Informer } from '@csi-sidecars/informer'
import { isMissing, type KubeClient, type RequestPriority } from '@csi-sidecars/kube-client'
import type { KubeObject, Patch } from '@csi-sidecars/kube-types'
import type { Content } from '../caches/content.ts'
import { ContentGoneError, rethrowAs } from './failure.ts'
import type { ContentKind } from './kinds.ts'
import {
  beingCreatedPatch,
  creationPatch,
  finalizerPatch,
  hasFinalizer,
  statusPatch,
  type ValuesToRecord,
} from './patches.ts'

/** The number of attempts of a write in one run if other clients change the content at the same time. */
const CONFLICT_TRIES = 5

interface StoredContentOptions {
  readonly api: KubeClient
  readonly kind: ContentKind
  readonly contents: Pick<Informer<Content, KubeObject>, 'storeAnswer' | 'store'>
  readonly project: (object: KubeObject) => Content | undefined
  readonly signal: AbortSignal
}

interface WriteOptions {
  readonly subresource?: 'status'
  readonly priority?: RequestPriority | undefined
}

/** How the tools of `libs/controller` read and write the content. */
interface Writes extends Omit<FinalizedObject<Content, Patch, Content>, 'hasFinalizer'> {
  latest(): Content
}

/**
 * One snapshot content in the API server.
 *
 * Guarantees: each write is built from the newest known state. After a conflict the content is read and the write is
 * built again, without another call to the driver.
 *
 * Errors: throws ContentGoneError if the content was deleted or recreated. Other errors of a write have the text of the
 * Go snapshotter.
 */
export class StoredContent {
  readonly #options: StoredContentOptions
  /** The state that was read or written last. */
  #content: Content

  constructor(content: Content, options: StoredContentOptions) {
    this.#content = content
    this.#options = options
  }

  /** The cached state. The last known state if the cache lacks this UID. */
  get newest(): Content {
    const cached = this.#options.contents.store.get(this.#content.key)
    return cached?.uid === this.#content.uid ? cached : this.#content
  }

  /** Reads the content, and updates the cache. */
  async read(): Promise<Content> {
    const { api, kind, contents, project, signal } = this.#options
    const { key, uid } = this.#content
    try {
      const object = await api.get<KubeObject>(kind.resource, { name: key }, { signal })
      const found = project(object)
      if (found?.uid === uid) {
        contents.storeAnswer(object)
        this.#content = found
        return found
      }
      // The watch reports the last state of the deleted content. The cache would forget it for a recreated content.
    } catch (error) {
      signal.throwIfAborted()
      if (!isMissing(error)) throw error
    }
    throw new ContentGoneError(`${key} is gone`)
  }

  /** Adds or removes the annotation of a content whose snapshot may be being created. */
  async setBeingCreated(isPresent: boolean): Promise<void> {
    const { kind } = this.#options
    await this.#write((latest) => beingCreatedPatch(latest, kind.metadataNames, isPresent))
  }

  /** Stores the values in the parameters, and the annotation being-created if `isBeingCreated`. */
  async recordValues(values: ValuesToRecord & { readonly isBeingCreated: boolean }): Promise<void> {
    const { kind } = this.#options
    await this.#write((latest) => creationPatch(latest, kind.metadataNames, values))
  }

  /** Writes the status fields that `fieldsOf` returns for the newest state. */
  async writeStatus(
    fieldsOf: (latest: Content) => object,
    options: Pick<WriteOptions, 'priority'> = {},
  ): Promise<void> {
    await this.#write((latest) => statusPatch(latest, fieldsOf(latest)), { ...options, subresource: 'status' })
  }

  async removeOurFinalizer(): Promise<void> {
    const { metadataNames } = this.#options.kind
    await this.#perform(async (writes) => {
      await removeFinalizer({
        ...writes,
        hasFinalizer: (latest) => hasFinalizer(latest, metadataNames),
        remove: (latest) => finalizerPatch(latest, metadataNames),
      })
    })
  }

  async #write(build: (latest: Content) => Patch | undefined, options: WriteOptions = {}): Promise<void> {
    await this.#perform(async (writes) => {
      await updateLatest({ ...writes, build })
    }, options)
  }

  async #perform(perform: (writes: Writes) => Promise<void>, options: WriteOptions = {}): Promise<void> {
    const { api, kind, contents, project, signal } = this.#options
    const { key } = this.#content
    let refusal: unknown
    this.#content = this.newest
    const writes: Writes = {
      tries: CONFLICT_TRIES,
      latest: () => this.#content,
      send: async (patch) => {
        try {
          const saved = await api.patch<KubeObject>(kind.resource, { name: key }, patch, { signal, ...options })
          contents.storeAnswer(saved)
          this.#content = project(saved) ?? this.#content
          return this.#content
        } catch (error) {
          refusal = error
          throw error
        }
      },
      refresh: async () => {
        await this.read()
      },
    }
    try {
      await perform(writes)
    } catch (error) {
      signal.throwIfAborted()
      // The read after a conflict has failed.
      if (error !== refusal) throw error
      if (isMissing(error)) throw new ContentGoneError(`${key} is gone`, { cause: error })
      return rethrowAs(`snapshot controller failed to update ${key} on API server`)(error)
    }
  }
}

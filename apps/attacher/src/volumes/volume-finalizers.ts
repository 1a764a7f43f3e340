import type { Informer } from '@csi-sidecars/informer'
import { isConflict, isInvalid, type KubeClient } from '@csi-sidecars/kube-client'
import { addFinalizerPatch, PERSISTENT_VOLUMES, type PersistentVolume } from '@csi-sidecars/kube-types'
import type { Volume } from '../caches/volume.ts'

/** Tries before a finalizer list that keeps changing under our hands is an error. */
const TRIES = 3

/** What a patch is made from. */
interface Known {
  readonly uid: string | undefined
  readonly finalizers: readonly string[] | undefined
}

/**
 * Puts our finalizer on volumes. Attachments of one volume that need it at the same time share one write:
 * a second one made from the same cached list would be refused, or add the finalizer twice.
 */
export class VolumeFinalizers {
  readonly #api: KubeClient
  readonly #volumes: Pick<Informer<Volume, PersistentVolume>, 'learn' | 'store'>
  readonly #finalizer: string
  readonly #running = new Map<string, Promise<Volume | undefined>>()

  constructor(options: {
    api: KubeClient
    volumes: Pick<Informer<Volume, PersistentVolume>, 'learn' | 'store'>
    finalizer: string
  }) {
    this.#api = options.api
    this.#volumes = options.volumes
    this.#finalizer = options.finalizer
  }

  /**
   * Resolves when the volume carries our finalizer, with the volume that carries it: the cache may have been behind, and
   * another one may have the name by now. Undefined when it no longer exists.
   */
  add(name: string, signal: AbortSignal): Promise<Volume | undefined> {
    const running = this.#running.get(name)
    if (running !== undefined) return running
    const added = this.#add(name, signal).finally(() => this.#running.delete(name))
    this.#running.set(name, added)
    return added
  }

  async #add(name: string, signal: AbortSignal): Promise<Volume | undefined> {
    const cached = this.#volumes.store.get(name)
    if (cached?.finalizers?.includes(this.#finalizer)) return cached
    let known: Known = { uid: cached?.uid, finalizers: cached?.finalizers }
    for (let left = TRIES; ; left -= 1) {
      try {
        const patch = addFinalizerPatch(known.finalizers, this.#finalizer, known.uid)
        return this.#volumes.learn(await this.#api.patch(PERSISTENT_VOLUMES, { name }, patch, { signal }))
      } catch (error) {
        // Neither the list, nor perhaps the volume, is the one that the patch was made from.
        if (left <= 1 || !(isInvalid(error) || isConflict(error))) throw error
      }
      const pv = await this.#api.get(PERSISTENT_VOLUMES, { name }, { signal })
      known = { uid: pv.metadata?.uid, finalizers: pv.metadata?.finalizers }
      const learned = this.#volumes.learn(pv)
      if (known.finalizers?.includes(this.#finalizer)) return learned
    }
  }
}

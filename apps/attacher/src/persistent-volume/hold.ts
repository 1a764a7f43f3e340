import type { Informer } from '@csi-sidecars/informer'
import { isConflict, isInvalid, type KubeClient } from '@csi-sidecars/kube-client'
import { addFinalizerPatch, PERSISTENT_VOLUMES, type PersistentVolume } from '@csi-sidecars/kube-types'
import type { Volume } from '../caches/volume.ts'

/** Tries before a finalizer list that keeps changing under our hands is an error. */
const TRIES = 3

/**
 * Puts our finalizer on volumes. Attachments of one volume that need it at the same time share one write:
 * a second one made from the same cached list would be refused, or add the finalizer twice.
 */
export class VolumeHolder {
  readonly #api: KubeClient
  readonly #volumes: Pick<Informer<Volume, PersistentVolume>, 'learn' | 'store'>
  readonly #finalizer: string
  readonly #running = new Map<string, Promise<void>>()

  constructor(options: {
    api: KubeClient
    volumes: Pick<Informer<Volume, PersistentVolume>, 'learn' | 'store'>
    finalizer: string
  }) {
    this.#api = options.api
    this.#volumes = options.volumes
    this.#finalizer = options.finalizer
  }

  /** Resolves when the volume carries our finalizer. */
  hold(name: string, signal: AbortSignal): Promise<void> {
    const running = this.#running.get(name)
    if (running !== undefined) return running
    const added = this.#add(name, signal).finally(() => this.#running.delete(name))
    this.#running.set(name, added)
    return added
  }

  async #add(name: string, signal: AbortSignal): Promise<void> {
    let finalizers = this.#volumes.store.get(name)?.finalizers
    for (let left = TRIES; !finalizers?.includes(this.#finalizer); left -= 1) {
      try {
        const patch = addFinalizerPatch(finalizers, this.#finalizer)
        this.#volumes.learn(await this.#api.patch(PERSISTENT_VOLUMES, { name }, patch, { signal }))
        return
      } catch (error) {
        // The list is no longer the one that the patch was made from.
        if (left <= 1 || !(isInvalid(error) || isConflict(error))) throw error
        finalizers = await this.#readAgain(name, signal)
      }
    }
  }

  async #readAgain(name: string, signal: AbortSignal): Promise<readonly string[] | undefined> {
    const pv: PersistentVolume = await this.#api.get(PERSISTENT_VOLUMES, { name }, { signal })
    this.#volumes.learn(pv)
    return pv.metadata?.finalizers
  }
}

import { addFinalizer } from '@csi-sidecars/controller'
import type { Informer } from '@csi-sidecars/informer'
import type { KubeClient } from '@csi-sidecars/kube-client'
import { addFinalizerPatch, PERSISTENT_VOLUMES, type PersistentVolume } from '@csi-sidecars/kube-types'
import type { CachedVolume } from '../caches/volume.ts'

/** The largest number of tries of a patch whose list of finalizers other writers keep changing. */
const TRIES = 3

/** The fields of a volume from which a patch is built. */
interface PatchBase {
  readonly uid: string | undefined
  readonly finalizers: readonly string[] | undefined
}

interface VolumeFinalizersOptions {
  readonly api: KubeClient
  readonly volumes: Pick<Informer<CachedVolume, PersistentVolume>, 'storeAnswer' | 'store'>
  readonly finalizer: string
}

/**
 * Adds our finalizer to volumes. Attachments of one volume that need it at the same time share one write: a second
 * patch from the same cached list would be refused, or add the finalizer twice.
 */
export class VolumeFinalizers {
  readonly #options: VolumeFinalizersOptions
  readonly #running = new Map<string, Promise<CachedVolume | undefined>>()

  constructor(options: VolumeFinalizersOptions) {
    this.#options = options
  }

  /**
   * Resolves with the volume that has our finalizer, which may be a recreated volume that the cache does not show yet.
   * Undefined if the volume no longer exists.
   */
  add(name: string, signal: AbortSignal): Promise<CachedVolume | undefined> {
    const running = this.#running.get(name)
    if (running !== undefined) return running
    const added = this.#add(name, signal).finally(() => this.#running.delete(name))
    this.#running.set(name, added)
    return added
  }

  async #add(name: string, signal: AbortSignal): Promise<CachedVolume | undefined> {
    const { api, volumes, finalizer } = this.#options
    const hasFinalizer = ({ finalizers }: PatchBase): boolean => finalizers?.includes(finalizer) === true
    const cached = volumes.store.get(name)
    if (cached !== undefined && hasFinalizer(cached)) return cached
    let base: PatchBase = { uid: cached?.uid, finalizers: cached?.finalizers }
    let refreshed: CachedVolume | undefined
    const result = await addFinalizer({
      tries: TRIES,
      latest: () => base,
      hasFinalizer,
      add: (state) => (hasFinalizer(state) ? undefined : addFinalizerPatch(state.finalizers, finalizer, state.uid)),
      send: async (patch) => volumes.storeAnswer(await api.patch(PERSISTENT_VOLUMES, { name }, patch, { signal })),
      refresh: async () => {
        const pv = await api.get(PERSISTENT_VOLUMES, { name }, { signal })
        base = { uid: pv.metadata?.uid, finalizers: pv.metadata?.finalizers }
        refreshed = volumes.storeAnswer(pv)
      },
    })
    return result.kind === 'added' ? result.saved : refreshed
  }
}

import type { CSIPersistentVolumeSource } from '@csi-sidecars/kube-types'
import type { FsGroup, PodVolume } from '../caches/pod.ts'

/** A volume to mount, with the fields for mount and unmount. The node's disk keeps them while the volume is mounted. */
export type MountSource =
  | CsiSource
  | EphemeralSource
  /** A volume without a CSI driver, which the node itself mounts. */
  | { readonly kind: 'local'; readonly volumeName: string; readonly name: string; readonly plugin: string }

/** A PersistentVolume of a CSI driver. */
export interface CsiSource {
  readonly kind: 'csi'
  readonly volumeName: string
  /** The name of the PersistentVolume. */
  readonly name: string
  readonly csi: CSIPersistentVolumeSource
  readonly accessModes: readonly string[]
  readonly mountOptions: readonly string[]
  readonly block: boolean
  /** True if the attach/detach controller must attach the volume first. */
  readonly attach: boolean
  /** The key of the claim. */
  readonly claim: string
}

/** A CSI volume that a pod declares inline. NodePublishVolume creates it, and NodeUnpublishVolume deletes it. */
export interface EphemeralSource {
  readonly kind: 'ephemeral'
  readonly volumeName: string
  readonly name: string
  readonly handle: string
  readonly source: Extract<PodVolume, { kind: 'csi' }>['source']
}

/** A volume that a CSI driver mounts. The node mounts all other volumes. */
export type DriverSource = CsiSource | EphemeralSource

/** How one pod uses one volume. */
export interface PodMount {
  readonly podUid: string
  readonly podKey: string
  readonly namespace: string
  readonly podName: string
  readonly serviceAccount: string
  /** True if the pod uses the volume read-only. */
  readonly readOnly: boolean
  /** The Unix group that must own the files of the volume. */
  readonly fsGroup: FsGroup | undefined
}

/** A volume as the pods of a node need it. */
export interface DesiredVolume {
  readonly source: MountSource
  /** The current capacity of the PersistentVolume; undefined for volumes that cannot be expanded. */
  readonly capacity: string | undefined
  readonly pods: ReadonlyMap<string, PodMount>
}

export function isOfDriver(source: MountSource): source is DriverSource {
  return source.kind === 'csi' || source.kind === 'ephemeral'
}

/** The desired mounts of one node: the pods of each volume. */
export class DesiredState {
  readonly #volumes = new Map<
    string,
    { source: MountSource; capacity: string | undefined; pods: Map<string, PodMount> }
  >()
  readonly #pods = new Map<string, Set<string>>()

  get(volumeName: string): DesiredVolume | undefined {
    return this.#volumes.get(volumeName)
  }

  /** Adds a volume of a pod. Returns whether the pod is new or the capacity has changed. */
  add(source: MountSource, pod: PodMount, capacity: string | undefined): boolean {
    const { volumeName } = source
    const volume = this.#volumes.get(volumeName)
    const isUnchanged = volume?.pods.has(pod.podUid) === true && volume.capacity === capacity
    const pods = volume?.pods ?? new Map<string, PodMount>()
    pods.set(pod.podUid, pod)
    this.#volumes.set(volumeName, { source, capacity, pods })
    const volumes = this.#pods.get(pod.podUid) ?? new Set()
    this.#pods.set(pod.podUid, volumes.add(volumeName))
    return !isUnchanged
  }

  /** Removes a pod. Returns the volumes that it wanted. */
  deletePod(podUid: string): readonly string[] {
    const volumes = [...(this.#pods.get(podUid) ?? [])]
    this.#pods.delete(podUid)
    for (const volumeName of volumes) {
      const volume = this.#volumes.get(volumeName)
      volume?.pods.delete(podUid)
      if (volume?.pods.size === 0) this.#volumes.delete(volumeName)
    }
    return volumes
  }

  /** Returns the sources of all volumes that pods of the node want. */
  sources(): readonly MountSource[] {
    return [...this.#volumes.values()].map(({ source }) => source)
  }

  volumesOf(podUid: string): ReadonlySet<string> {
    return this.#pods.get(podUid) ?? new Set()
  }

  /** Returns the names of the wanted volumes that must be attached. */
  *attachable(): Generator<string> {
    for (const [volumeName, { source }] of this.#volumes) {
      if (source.kind === 'csi' && source.attach) yield volumeName
    }
  }
}

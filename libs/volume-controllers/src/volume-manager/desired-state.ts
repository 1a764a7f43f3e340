import type { CSIPersistentVolumeSource } from '@csi-sidecars/kube-types'
import type { ContentSource } from '../caches/content-source.ts'
import type { FsGroup, PodVolume } from '../caches/pod.ts'

/** What is mounted, with all that its mount and unmount need. It is kept on the node's disk while it is mounted. */
export type MountSource =
  | CsiSource
  | EphemeralSource
  /** A ConfigMap or a Secret as files, which the node writes. */
  | { readonly is: 'content'; readonly volumeName: string; readonly name: string; readonly content: ContentSource }
  /** Nothing of CSI's: mounted by the node itself. */
  | { readonly is: 'local'; readonly volumeName: string; readonly name: string; readonly plugin: string }

/** A PersistentVolume of a CSI driver. */
export interface CsiSource {
  readonly is: 'csi'
  readonly volumeName: string
  /** The PersistentVolume. */
  readonly name: string
  readonly csi: CSIPersistentVolumeSource
  readonly accessModes: readonly string[]
  readonly mountOptions: readonly string[]
  readonly block: boolean
  /** The attach/detach controller has to attach it first. */
  readonly attach: boolean
  /** Undefined for a volume that the pod names itself. */
  readonly claim: string | undefined
}

/** A CSI volume that a pod declares itself: created by its publish, deleted by its unpublish. */
export interface EphemeralSource {
  readonly is: 'ephemeral'
  readonly volumeName: string
  readonly name: string
  readonly handle: string
  readonly source: Extract<PodVolume, { is: 'csi' }>['source']
}

/** What a driver mounts; the rest is the node's own. */
export type DriverSource = CsiSource | EphemeralSource

export function isOfDriver(source: MountSource): source is DriverSource {
  return source.is === 'csi' || source.is === 'ephemeral'
}

/** How one pod uses one volume. */
export interface PodMount {
  readonly podUid: string
  readonly podKey: string
  readonly namespace: string
  readonly podName: string
  readonly serviceAccount: string
  /** The pod asks for no more than reading. */
  readonly readOnly: boolean
  /** The group that is to own what the pod writes to. */
  readonly fsGroup: FsGroup | undefined
}

export interface DesiredVolume {
  readonly source: MountSource
  /** What the PersistentVolume holds by now; undefined where that means nothing. */
  readonly capacity: string | undefined
  readonly pods: ReadonlyMap<string, PodMount>
}

/** What should be mounted on one node: volume -> pods. */
export class DesiredState {
  readonly #volumes = new Map<
    string,
    { source: MountSource; capacity: string | undefined; pods: Map<string, PodMount> }
  >()
  readonly #pods = new Map<string, Set<string>>()

  get(volumeName: string): DesiredVolume | undefined {
    return this.#volumes.get(volumeName)
  }

  /** Returns whether anything is new: a pod, or a volume that has grown. */
  add(source: MountSource, pod: PodMount, capacity: string | undefined): boolean {
    const { volumeName } = source
    const volume = this.#volumes.get(volumeName)
    const known = volume?.pods.has(pod.podUid) === true && volume.capacity === capacity
    const pods = volume?.pods ?? new Map<string, PodMount>()
    pods.set(pod.podUid, pod)
    this.#volumes.set(volumeName, { source, capacity, pods })
    const volumes = this.#pods.get(pod.podUid) ?? new Set()
    this.#pods.set(pod.podUid, volumes.add(volumeName))
    return !known
  }

  /** Takes a pod out. Returns the volumes that it wanted. */
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

  /** Every volume that is wanted. */
  sources(): readonly MountSource[] {
    return [...this.#volumes.values()].map(({ source }) => source)
  }

  volumesOf(podUid: string): ReadonlySet<string> {
    return this.#pods.get(podUid) ?? new Set()
  }

  /** The volumes that wait for, or depend on, an attach. */
  *attachable(): Generator<string> {
    for (const [volumeName, { source }] of this.#volumes) if (source.is === 'csi' && source.attach) yield volumeName
  }
}

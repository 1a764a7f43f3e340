import type { PersistentVolumeSpec } from '@csi-sidecars/kube-types'

/** A volume as the attach/detach controller sees it. */
export interface VolumeSpec {
  /** As in node statuses. */
  readonly volumeName: string
  readonly pvName: string
  /** Of an inline volume of a pod, which has no PersistentVolume: what is attached instead. */
  readonly inline?: PersistentVolumeSpec
  /** Several nodes may have it at once. */
  readonly multiAttach: boolean
}

/** A pod as far as an event can be about it. */
export interface PodRef {
  readonly key: string
  readonly uid: string
  readonly resourceVersion: string
}

interface DesiredVolume {
  readonly spec: VolumeSpec
  readonly pods: Map<string, PodRef>
  /** The multi-attach error was reported for this volume and node; once is enough. */
  multiAttachReported: boolean
}

/** What should be: volume -> node -> pods. Only nodes that the controller manages are in it. */
export class DesiredState {
  readonly #nodes = new Set<string>()
  readonly #volumes = new Map<string, Map<string, DesiredVolume>>()
  /** Pod -> node and volumes, so that a pod can be taken out when all that is known of it is its uid. */
  readonly #pods = new Map<string, { readonly ref: PodRef; readonly node: string; readonly volumes: Set<string> }>()

  addNode(node: string): void {
    this.#nodes.add(node)
  }

  /** A node on which a volume is still wanted stays until its pods are gone. */
  deleteNode(node: string): void {
    if (![...this.#volumes.values()].some((nodes) => nodes.has(node))) this.#nodes.delete(node)
  }

  hasNode(node: string): boolean {
    return this.#nodes.has(node)
  }

  /** Returns whether that changes something. */
  addPod(pod: PodRef, node: string, spec: VolumeSpec): boolean {
    if (!this.#nodes.has(node)) return false
    const { volumeName } = spec
    const nodes = this.#volumes.get(volumeName) ?? new Map<string, DesiredVolume>()
    const known = nodes.get(node)
    const isNew = known?.pods.has(pod.uid) !== true
    const pods = known?.pods ?? new Map<string, PodRef>()
    nodes.set(node, { multiAttachReported: false, ...known, spec, pods: pods.set(pod.uid, pod) })
    this.#volumes.set(volumeName, nodes)
    const entry = this.#pods.get(pod.uid) ?? { ref: pod, node, volumes: new Set() }
    entry.volumes.add(volumeName)
    this.#pods.set(pod.uid, entry)
    return isNew
  }

  /** Takes a pod out. Returns the volumes that it wanted. */
  deletePod(uid: string): readonly string[] {
    const entry = this.#pods.get(uid)
    if (entry === undefined) return []
    this.#pods.delete(uid)
    for (const volumeName of entry.volumes) this.#release(uid, volumeName, entry.node)
    return [...entry.volumes]
  }

  /** Takes out one volume of a pod: it needs no attach any more. */
  deleteVolumeOfPod(uid: string, volumeName: string): void {
    const entry = this.#pods.get(uid)
    if (entry?.volumes.delete(volumeName)) this.#release(uid, volumeName, entry.node)
  }

  #release(uid: string, volumeName: string, node: string): void {
    const nodes = this.#volumes.get(volumeName)
    const pods = nodes?.get(node)?.pods
    pods?.delete(uid)
    if (pods?.size === 0) nodes?.delete(node)
    if (nodes?.size === 0) this.#volumes.delete(volumeName)
  }

  specOf(volumeName: string): VolumeSpec | undefined {
    const [volume] = this.#volumes.get(volumeName)?.values() ?? []
    return volume?.spec
  }

  /** The nodes on which the volume is wanted. */
  nodesOf(volumeName: string): Iterable<string> {
    return this.#volumes.get(volumeName)?.keys() ?? []
  }

  podsOn(volumeName: string, node: string): readonly PodRef[] {
    return [...(this.#volumes.get(volumeName)?.get(node)?.pods.values() ?? [])]
  }

  wasMultiAttachReported(volumeName: string, node: string): boolean {
    return this.#volumes.get(volumeName)?.get(node)?.multiAttachReported === true
  }

  multiAttachReported(volumeName: string, node: string): void {
    const volume = this.#volumes.get(volumeName)?.get(node)
    if (volume !== undefined) volume.multiAttachReported = true
  }

  /** Every pod that wants a volume, with what it wants. */
  pods(): Iterable<{ readonly ref: PodRef; readonly volumes: ReadonlySet<string> }> {
    return [...this.#pods.values()]
  }
}

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

/** What should be: node -> volume -> pods. Only nodes that the controller manages are in it. */
export class DesiredState {
  readonly #nodes = new Map<string, Map<string, DesiredVolume>>()
  readonly #nodesByVolume = new Map<string, Set<string>>()
  /** Pod -> node and volumes, so that a pod can be taken out when all that is known of it is its uid. */
  readonly #pods = new Map<string, { readonly ref: PodRef; readonly node: string; readonly volumes: Set<string> }>()

  addNode(node: string): void {
    if (!this.#nodes.has(node)) this.#nodes.set(node, new Map())
  }

  /** A node on which a volume is still wanted stays until its pods are gone. */
  deleteNode(node: string): void {
    if (this.#nodes.get(node)?.size === 0) this.#nodes.delete(node)
  }

  hasNode(node: string): boolean {
    return this.#nodes.has(node)
  }

  /** Returns whether that changes something. */
  addPod(pod: PodRef, node: string, spec: VolumeSpec): boolean {
    const volumes = this.#nodes.get(node)
    if (volumes === undefined) return false
    const { volumeName } = spec
    const known = volumes.get(volumeName)
    const isNew = known?.pods.has(pod.uid) !== true
    const pods = known?.pods ?? new Map<string, PodRef>()
    pods.set(pod.uid, pod)
    volumes.set(volumeName, { spec, pods, multiAttachReported: known?.multiAttachReported ?? false })
    const nodes = this.#nodesByVolume.get(volumeName) ?? new Set()
    this.#nodesByVolume.set(volumeName, nodes.add(node))
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
    const volumes = this.#nodes.get(node)
    const volume = volumes?.get(volumeName)
    volume?.pods.delete(uid)
    if (volume === undefined || volume.pods.size > 0) return
    volumes?.delete(volumeName)
    const nodes = this.#nodesByVolume.get(volumeName)
    nodes?.delete(node)
    if (nodes?.size === 0) this.#nodesByVolume.delete(volumeName)
  }

  specOf(volumeName: string): VolumeSpec | undefined {
    const [node] = this.nodesOf(volumeName)
    return node === undefined ? undefined : this.#nodes.get(node)?.get(volumeName)?.spec
  }

  /** The nodes on which the volume is wanted. */
  nodesOf(volumeName: string): Iterable<string> {
    return this.#nodesByVolume.get(volumeName) ?? []
  }

  podsOn(volumeName: string, node: string): readonly PodRef[] {
    return [...(this.#nodes.get(node)?.get(volumeName)?.pods.values() ?? [])]
  }

  wasMultiAttachReported(volumeName: string, node: string): boolean {
    return this.#nodes.get(node)?.get(volumeName)?.multiAttachReported === true
  }

  multiAttachReported(volumeName: string, node: string): void {
    const volume = this.#nodes.get(node)?.get(volumeName)
    if (volume !== undefined) volume.multiAttachReported = true
  }

  /** Every pod that wants a volume, with what it wants. */
  pods(): Iterable<{ readonly ref: PodRef; readonly volumes: ReadonlySet<string> }> {
    return [...this.#pods.values()]
  }
}

/** The identity of a volume that a pod wants. */
export interface VolumeSpec {
  /** The name of the volume in node statuses. */
  readonly volumeName: string
  readonly pvName: string
  /** True if several nodes may have the volume at once. */
  readonly multiAttach: boolean
}

/** A reference to a pod, for events. */
export interface PodRef {
  readonly key: string
  readonly uid: string
  readonly resourceVersion: string
}

interface DesiredVolume {
  readonly spec: VolumeSpec
  readonly pods: Map<string, PodRef>
  /** True if the multi-attach error was already reported for this volume and node. */
  multiAttachReported: boolean
}

/**
 * The desired state: the pods that want each volume on each node. Only nodes that the controller manages are included.
 */
export class DesiredAttachments {
  readonly #nodes = new Set<string>()
  readonly #volumes = new Map<string, Map<string, DesiredVolume>>()
  /** The node and the volumes of each pod, by UID. The UID alone is enough to remove a pod. */
  readonly #pods = new Map<string, { readonly ref: PodRef; readonly node: string; readonly volumes: Set<string> }>()

  addNode(node: string): void {
    this.#nodes.add(node)
  }

  /** Removes a node, unless a pod on the node wants a volume. */
  deleteNode(node: string): void {
    if (![...this.#volumes.values()].some((nodes) => nodes.has(node))) this.#nodes.delete(node)
  }

  hasNode(node: string): boolean {
    return this.#nodes.has(node)
  }

  /** Adds a volume of a pod if the node is managed. Returns whether the pod is new for the volume. */
  addPod(pod: PodRef, node: string, spec: VolumeSpec): boolean {
    if (!this.#nodes.has(node)) return false
    const { volumeName } = spec
    const nodes = this.#volumes.get(volumeName) ?? new Map<string, DesiredVolume>()
    const existing = nodes.get(node)
    const isNew = existing?.pods.has(pod.uid) !== true
    const pods = existing?.pods ?? new Map<string, PodRef>()
    nodes.set(node, { multiAttachReported: false, ...existing, spec, pods: pods.set(pod.uid, pod) })
    this.#volumes.set(volumeName, nodes)
    const entry = this.#pods.get(pod.uid) ?? { ref: pod, node, volumes: new Set() }
    entry.volumes.add(volumeName)
    this.#pods.set(pod.uid, entry)
    return isNew
  }

  /** Removes a pod. Returns its volumes. */
  deletePod(uid: string): readonly string[] {
    const entry = this.#pods.get(uid)
    if (entry === undefined) return []
    this.#pods.delete(uid)
    for (const volumeName of entry.volumes) this.#release(uid, volumeName, entry.node)
    return [...entry.volumes]
  }

  /** Removes one volume of a pod, because the volume needs no attach. */
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

  /** Returns the nodes with pods that want the volume. */
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

  /** Returns all pods that want a volume, with their volumes. */
  pods(): Iterable<{ readonly ref: PodRef; readonly volumes: ReadonlySet<string> }> {
    return [...this.#pods.values()]
  }
}

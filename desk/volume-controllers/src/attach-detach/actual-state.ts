/** The state of an attachment of a volume to a node, as the controller knows it. */
export type AttachState =
  /** The attacher has reported the attachment, or the node status listed the volume when the controller started. */
  | 'attached'
  /** The node may have the volume, because an attach or a detach is not confirmed. */
  | 'uncertain'

/** The state of a volume on one node, as the attach-detach controller knows it. */
export interface AttachedTo {
  readonly state: AttachState
  /** The monotonic time of the first request to detach. Undefined if no detach is requested. */
  readonly detachRequestedAt: number | undefined
}

/** The actual state: the nodes to which each volume is attached, and the volume lists for the status of each node. */
export class ActualAttachments {
  readonly #volumes = new Map<string, Map<string, AttachedTo>>()
  /**
   * The volumes that the status of each node may list as attached. Uncertain volumes and volumes about to be detached
   * are excluded.
   */
  readonly #reported = new Map<string, Set<string>>()
  readonly #inUse = new Map<string, ReadonlySet<string>>()

  markAttached(volumeName: string, node: string): void {
    this.#set(volumeName, node, 'attached')
    this.report(volumeName, node)
  }

  markUncertain(volumeName: string, node: string): void {
    this.#set(volumeName, node, 'uncertain')
    this.unreport(volumeName, node)
  }

  markDetached(volumeName: string, node: string): void {
    const nodes = this.#volumes.get(volumeName)
    nodes?.delete(node)
    if (nodes?.size === 0) this.#volumes.delete(volumeName)
    this.unreport(volumeName, node)
  }

  #set(volumeName: string, node: string, state: AttachState): void {
    const nodes = this.#volumes.get(volumeName) ?? new Map<string, AttachedTo>()
    nodes.set(node, { state, detachRequestedAt: nodes.get(node)?.detachRequestedAt })
    this.#volumes.set(volumeName, nodes)
  }

  /** Starts the wait for the unmount of a volume, unless the wait has already begun. */
  requestDetach(volumeName: string, node: string, now: number): void {
    const nodes = this.#volumes.get(volumeName)
    const attached = nodes?.get(node)
    if (attached !== undefined && attached.detachRequestedAt === undefined) {
      nodes?.set(node, { ...attached, detachRequestedAt: now })
    }
  }

  /** Ends the wait for the unmount of a volume, because a pod wants the volume again. */
  resetDetachRequest(volumeName: string, node: string): void {
    const nodes = this.#volumes.get(volumeName)
    const attached = nodes?.get(node)
    if (attached !== undefined) nodes?.set(node, { ...attached, detachRequestedAt: undefined })
  }

  report(volumeName: string, node: string): void {
    const reported = this.#reported.get(node) ?? new Set()
    this.#reported.set(node, reported.add(volumeName))
  }

  unreport(volumeName: string, node: string): void {
    this.#reported.get(node)?.delete(volumeName)
  }

  unreportAll(node: string): void {
    this.#reported.delete(node)
  }

  /** Returns the volumes that the node status should list as attached, sorted. */
  reportedOn(node: string): readonly string[] {
    return [...(this.#reported.get(node) ?? [])].sort()
  }

  isReported(volumeName: string, node: string): boolean {
    return this.#reported.get(node)?.has(volumeName) === true
  }

  /** Stores the volumes that a node reports as in use. Returns the volumes that were added or removed. */
  setInUse(node: string, volumeNames: readonly string[]): readonly string[] {
    const before = this.inUseOn(node)
    const after = new Set(volumeNames)
    this.#inUse.set(node, after)
    return [...before.symmetricDifference(after)]
  }

  /** Stores that a node may use a volume, until the node reports what it uses. */
  assumeInUse(volumeName: string, node: string): void {
    this.#inUse.set(node, new Set([...this.inUseOn(node), volumeName]))
  }

  inUseOn(node: string): ReadonlySet<string> {
    return this.#inUse.get(node) ?? new Set()
  }

  on(volumeName: string, node: string): AttachedTo | undefined {
    return this.#volumes.get(volumeName)?.get(node)
  }

  /** Returns the nodes that have the volume, or may have it. */
  nodesOf(volumeName: string): Iterable<string> {
    return this.#volumes.get(volumeName)?.keys() ?? []
  }

  volumesOn(node: string): readonly string[] {
    return [...this.#volumes].filter(([, nodes]) => nodes.has(node)).map(([volumeName]) => volumeName)
  }

  volumes(): Iterable<string> {
    return this.#volumes.keys()
  }
}

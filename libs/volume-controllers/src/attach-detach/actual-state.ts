/** How far it is known whether a volume is on a node. */
export type AttachState =
  /** The attacher has said so. */
  | 'attached'
  /** An attach or a detach was asked for and has not ended well: it may be there. */
  | 'uncertain'

export interface AttachedTo {
  readonly state: AttachState
  /** Monotonic time since when it should not be there any more. */
  readonly detachRequestedAt: number | undefined
}

/** What is: volume -> nodes, what their statuses are to report, and what their kubelets say is in use. */
export class ActualState {
  readonly #volumes = new Map<string, Map<string, AttachedTo>>()
  /** Node -> what its status may call attached: less than what is, from the moment a detach is considered. */
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

  /** Starts the wait for the unmount, unless it has begun. */
  requestDetach(volumeName: string, node: string, now: number): void {
    const nodes = this.#volumes.get(volumeName)
    const attached = nodes?.get(node)
    if (attached !== undefined && attached.detachRequestedAt === undefined) {
      nodes?.set(node, { ...attached, detachRequestedAt: now })
    }
  }

  /** The volume is wanted again. */
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

  /** What the node's status is to say, in a stable order. */
  reportedOn(node: string): readonly string[] {
    return [...(this.#reported.get(node) ?? [])].sort()
  }

  isReported(volumeName: string, node: string): boolean {
    return this.#reported.get(node)?.has(volumeName) === true
  }

  /** Takes in a node's own report. Returns the volumes for which it changes something. */
  setInUse(node: string, volumeNames: readonly string[]): readonly string[] {
    const before = this.inUseOn(node)
    const after = new Set(volumeNames)
    this.#inUse.set(node, after)
    return [...before.symmetricDifference(after)]
  }

  inUseOn(node: string): ReadonlySet<string> {
    return this.#inUse.get(node) ?? new Set()
  }

  on(volumeName: string, node: string): AttachedTo | undefined {
    return this.#volumes.get(volumeName)?.get(node)
  }

  /** The nodes that have the volume, or may have it. */
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

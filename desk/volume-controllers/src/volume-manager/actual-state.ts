import type { MountSource } from './desired-state.ts'

/** The mount of a volume for one pod. Without `podUid`, it is the staging mount for all pods of the node. */
export interface MountPoint {
  readonly source: MountSource
  readonly path: string
  readonly podUid?: string
}

/** The mount at a path. `uncertain`: a call was sent, and its result is unknown. */
export interface MountState {
  readonly kind: 'mounted' | 'uncertain'
  readonly path: string
}

/** A volume as it is on a node: its mounts and their states. */
export interface ActualVolume {
  readonly source: MountSource
  /** True if the node may use the volume: the API server has confirmed the attachment, or no attach is needed. */
  readonly attached: boolean
  readonly publishContext: Readonly<Record<string, string>>
  readonly device: MountState | undefined
  readonly pods: ReadonlyMap<string, MountState>
  /** Pods whose volume must be published again, because the driver requires it. */
  readonly stale: ReadonlySet<string>
  /** The last size of the volume that this node has confirmed. Undefined before the first check. */
  readonly claimSize: string | undefined
  /** The result of the last node expansion. After `inUse`, the node expands the volume only at the next mount. */
  readonly expansion: 'open' | 'failed' | 'inUse'
}

type Mutable = Omit<{ -readonly [K in keyof ActualVolume]: ActualVolume[K] }, 'pods' | 'stale'> & {
  pods: Map<string, MountState>
  stale: Set<string>
}

/** The volumes in use on a node. A volume is in use from the check of its attachment until its unmount. */
export class ActualState {
  readonly #volumes = new Map<string, Mutable>()

  get(volumeName: string): ActualVolume | undefined {
    return this.#volumes.get(volumeName)
  }

  /** Adds the volume, which then counts as in use even if its pod is deleted before the mount. */
  begin(source: MountSource): void {
    this.#at(source)
  }

  markAttached(source: MountSource, publishContext: Readonly<Record<string, string>>): void {
    Object.assign(this.#at(source), { attached: true, publishContext })
  }

  /** Records the state of a mount. Undefined means that nothing is mounted. */
  record({ source, path, podUid }: MountPoint, kind: MountState['kind'] | undefined): void {
    const volume = this.#at(source)
    const mount = kind && { kind, path }
    if (podUid === undefined) {
      volume.device = mount
      return
    }
    volume.stale.delete(podUid)
    if (mount === undefined) volume.pods.delete(podUid)
    else volume.pods.set(podUid, mount)
  }

  stateOf({ source: { volumeName }, podUid }: MountPoint): MountState | undefined {
    const volume = this.#volumes.get(volumeName)
    return podUid === undefined ? volume?.device : volume?.pods.get(podUid)
  }

  /** Marks the mounts of a volume for another publish call. Returns whether the volume has such mounts. */
  markStale(volumeName: string): boolean {
    const volume = this.#volumes.get(volumeName)
    for (const [podUid, { kind }] of volume?.pods ?? []) {
      if (kind === 'mounted') volume?.stale.add(podUid)
    }
    return (volume?.stale.size ?? 0) > 0
  }

  markSize(volumeName: string, claimSize: string): void {
    const volume = this.#volumes.get(volumeName)
    if (volume !== undefined) Object.assign(volume, { claimSize, expansion: 'open' })
  }

  markExpansion(volumeName: string, expansion: ActualVolume['expansion']): void {
    const volume = this.#volumes.get(volumeName)
    if (volume !== undefined) volume.expansion = expansion
  }

  forget(volumeName: string): void {
    this.#volumes.delete(volumeName)
  }

  volumeNames(): Iterable<string> {
    return this.#volumes.keys()
  }

  /** Reports whether any volume of the pod is mounted, or may be. */
  isMountedFor(podUid: string): boolean {
    for (const { pods } of this.#volumes.values()) {
      if (pods.has(podUid)) return true
    }
    return false
  }

  #at(source: MountSource): Mutable {
    const existing = this.#volumes.get(source.volumeName)
    if (existing !== undefined) return existing
    const volume: Mutable = {
      source,
      attached: false,
      publishContext: {},
      device: undefined,
      pods: new Map(),
      stale: new Set(),
      claimSize: undefined,
      expansion: 'open',
    }
    this.#volumes.set(source.volumeName, volume)
    return volume
  }
}

import type { MountSource } from './desired-state.ts'

/** Where a volume is mounted: for a pod, or without one for all pods of the node. */
export interface MountPoint {
  readonly source: MountSource
  readonly path: string
  readonly podUid?: string
}

/** How far it is known whether something is mounted at a path. `uncertain`: a call was sent, and its result is unknown. */
export interface MountState {
  readonly is: 'mounted' | 'uncertain'
  readonly path: string
}

export interface ActualVolume {
  readonly source: MountSource
  /** The node may use it: the API has said that it is attached, or it needs no attach. */
  readonly attached: boolean
  readonly publishContext: Readonly<Record<string, string>>
  readonly device: MountState | undefined
  readonly pods: ReadonlyMap<string, MountState>
  /** Pods for which it is mounted and is to be published once more: what it shows may have changed. */
  readonly stale: ReadonlySet<string>
  /** The size that its file system has by what the claim says; undefined until it was looked at. */
  readonly claimSize: string | undefined
  /** Of the last node expansion: a driver that cannot expand in use is not asked again on this node. */
  readonly expansion: 'open' | 'failed' | 'inUse'
}

type Mutable = Omit<{ -readonly [K in keyof ActualVolume]: ActualVolume[K] }, 'pods' | 'stale'> & {
  pods: Map<string, MountState>
  stale: Set<string>
}

/**
 * What is mounted on one node. A volume is in it from the moment that the node begins to ask whether it may use it until
 * it is unmounted; all that time it is in use.
 */
export class ActualState {
  readonly #volumes = new Map<string, Mutable>()

  get(volumeName: string): ActualVolume | undefined {
    return this.#volumes.get(volumeName)
  }

  /** From here on the volume is in use, even if its pod is deleted before the volume is mounted. */
  begin(source: MountSource): void {
    this.#at(source)
  }

  markAttached(source: MountSource, publishContext: Readonly<Record<string, string>>): void {
    Object.assign(this.#at(source), { attached: true, publishContext })
  }

  /** Undefined: nothing is mounted there. */
  mark({ source, path, podUid }: MountPoint, is: MountState['is'] | undefined): void {
    const volume = this.#at(source)
    const mount = is && { is, path }
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

  /** Its mounts are to be published once more. Returns whether there are any. */
  markStale(volumeName: string): boolean {
    const volume = this.#volumes.get(volumeName)
    for (const [podUid, { is }] of volume?.pods ?? []) if (is === 'mounted') volume?.stale.add(podUid)
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

  /** The volumes of which something of the pod is, or may be, mounted. */
  isMountedFor(podUid: string): boolean {
    for (const { pods } of this.#volumes.values()) if (pods.has(podUid)) return true
    return false
  }

  #at(source: MountSource): Mutable {
    const known = this.#volumes.get(source.volumeName)
    if (known !== undefined) return known
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

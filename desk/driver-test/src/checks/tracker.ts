import { CODES } from '@csi-sidecars/csi'
import type { Snapshot, Volume, VolumeCapability } from '@csi-sidecars/csi-proto'
import type { ProxiedCall } from '@csi-sidecars/disturb'

/** The certainty of a state. `maybe`: a call that changes the state has started, and none has succeeded since. */
export type Certainty = 'yes' | 'maybe' | 'no'

/** The things that a tracker records. */
export type Tracked = 'Volume' | 'Snapshot'

/** A volume or a snapshot as the driver's answers describe it. A snapshot uses the fields about its existence only. */
export interface KnownVolume {
  readonly id: string
  readonly name: string
  exists: Certainty
  /** The size in bytes. 0 if the driver does not report a size. */
  capacity: bigint
  /** The certainty that the volume is attached, by node ID. */
  readonly nodes: Map<string, Certainty>
  /** The certainty that the volume is staged, by path. */
  readonly staged: Map<string, Certainty>
  /** The certainty that the volume is published, by path. */
  readonly published: Map<string, Certainty>
  readonly block: boolean
  /** True for an inline volume of a pod: NodePublishVolume creates it, and NodeUnpublishVolume deletes it. */
  readonly inline: boolean
  /** The number of running calls about the volume. */
  busy: number
  /** The value of `position` when a call about the volume last began or ended. */
  changed: number
}

/** Returns the volume in an answer to CreateVolume. Undefined if it has no ID. */
export function namedVolume(response: ProxiedCall['response']): Volume | undefined {
  const volume = response?.['volume'] as Volume | undefined
  return volume?.volumeId === '' ? undefined : volume
}

/** Returns the ID in an answer to CreateVolume or CreateSnapshot. Empty if there is none. */
export function createdId({ response }: Pick<ProxiedCall, 'response'>): string {
  const snapshot = response?.['snapshot'] as Snapshot | undefined
  return snapshot?.snapshotId ?? namedVolume(response)?.volumeId ?? ''
}

/** Returns the ID of the volume or the snapshot that a call changes. Empty for a creation. */
export function changedId({ request }: Pick<ProxiedCall, 'request'>): string {
  return text(request['volumeId']) || text(request['snapshotId'])
}

/** The codes after which a driver may still create the volume or the snapshot. */
const MAY_CONTINUE: readonly (number | undefined)[] = [
  undefined, // the call ended without an answer
  CODES.Canceled,
  CODES.DeadlineExceeded,
  CODES.ResourceExhausted,
  CODES.Aborted,
  CODES.Unavailable,
]

/** Records the state of each volume, or of each snapshot, from all CSI calls and their answers. */
export class Tracker {
  readonly of: Tracked
  readonly #volumes = new Map<string, KnownVolume>()
  readonly #unsure = new Map<string, ProxiedCall['request']>()
  #count = 0

  constructor(of: Tracked = 'Volume') {
    this.of = of
  }

  get volumes(): readonly KnownVolume[] {
    return [...this.#volumes.values()]
  }

  /** The requests for creations whose answers do not show whether the volume or the snapshot exists. */
  get unsure(): readonly ProxiedCall['request'][] {
    return [...this.#unsure.values()]
  }

  get(id: string): KnownVolume | undefined {
    return this.#volumes.get(id)
  }

  /** The number of starts and ends of calls. A volume has changed after a read of `position` if its `changed` is higher. */
  get position(): number {
    return this.#count
  }

  see(call: ProxiedCall): void {
    this.#count += 1
    if (call.method.includes('Snapshot') !== (this.of === 'Snapshot')) return
    if (call.method.startsWith('Create')) return this.#onCreate(call)
    const volume = this.#volumes.get(changedId(call)) ?? this.#inlineVolume(call)
    if (volume === undefined) return
    volume.changed = this.#count
    volume.busy += call.end === undefined ? 1 : -1
    const certainty = certaintyOf(call)
    if (certainty !== 'failed') this.#apply(volume, call, certainty)
    if (volume.inline) volume.exists = volume.published.size > 0 ? 'maybe' : 'no'
  }

  /** Records an unknown volume in NodePublishVolume as an inline volume. */
  #inlineVolume({ method, request }: ProxiedCall): KnownVolume | undefined {
    const id = text(request['volumeId'])
    if (method !== 'NodePublishVolume' || id === '') return undefined
    const volume: KnownVolume = { ...unused(), id, name: '', exists: 'maybe', capacity: 0n, block: false, inline: true }
    this.#volumes.set(id, volume)
    return volume
  }

  #onCreate({ request, response, code }: ProxiedCall): void {
    const name = text(request['name'])
    const id = code === 0 ? createdId({ response }) : ''
    if (MAY_CONTINUE.includes(code) || (code === 0 && id === '')) this.#unsure.set(name, request)
    else this.#unsure.delete(name)
    if (id === '') return
    const capacity = namedVolume(response)?.capacityBytes ?? 0n
    const volume = this.#volumes.get(id)
    if (volume?.exists === 'yes') return
    const block = isBlock(request['volumeCapabilities'])
    const fresh = { ...unused(), id, name, exists: 'yes' as const, capacity, block, inline: false }
    this.#volumes.set(id, { ...fresh, busy: volume?.busy ?? 0, changed: this.#count })
  }

  #apply(volume: KnownVolume, { method, request, response }: ProxiedCall, certainty: 'maybe' | 'done'): void {
    const begin = (map: Map<string, Certainty>, key: string): void => {
      if (certainty === 'done') map.set(key, 'yes')
      else if (map.get(key) !== 'yes') map.set(key, 'maybe')
    }
    const end = (map: Map<string, Certainty>, key: string): void => {
      if (certainty === 'done') map.delete(key)
      else map.set(key, 'maybe')
    }
    const node = text(request['nodeId'])
    const target = text(request['targetPath'])
    const staging = text(request['stagingTargetPath'])
    switch (method) {
      case 'DeleteVolume':
      case 'DeleteSnapshot':
        volume.exists = certainty === 'done' ? 'no' : 'maybe'
        return
      case 'ControllerPublishVolume':
        return begin(volume.nodes, node)
      case 'ControllerUnpublishVolume':
        for (const each of node === '' ? [...volume.nodes.keys()] : [node]) end(volume.nodes, each)
        return
      case 'NodeStageVolume':
        return begin(volume.staged, staging)
      case 'NodeUnstageVolume':
        return end(volume.staged, staging)
      case 'NodePublishVolume':
        return begin(volume.published, target)
      case 'NodeUnpublishVolume':
        return end(volume.published, target)
      case 'ControllerExpandVolume':
        if (certainty === 'done') volume.capacity = larger(volume.capacity, response?.['capacityBytes'])
        return
    }
  }
}

/** Returns how sure the effect of a call is. A running call may still have it. */
function certaintyOf({ end, code }: ProxiedCall): 'maybe' | 'done' | 'failed' {
  if (end === undefined) return 'maybe'
  return code === 0 ? 'done' : 'failed'
}

/** Returns the state of a volume before any call. */
function unused() {
  return { nodes: new Map(), staged: new Map(), published: new Map(), busy: 0, changed: 0 }
}

function isBlock(capabilities: unknown): boolean {
  const all = Array.isArray(capabilities) ? (capabilities as readonly VolumeCapability[]) : []
  return all.some(({ accessType }) => accessType?.$case === 'block')
}

/** Returns the keys whose certainty is `yes`. */
export function certain(map: ReadonlyMap<string, Certainty>): readonly string[] {
  return [...map].flatMap(([key, certainty]) => (certainty === 'yes' ? [key] : []))
}

function larger(capacity: bigint, answered: unknown): bigint {
  return typeof answered === 'bigint' && answered > capacity ? answered : capacity
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

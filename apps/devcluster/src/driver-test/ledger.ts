import type { ProxiedCall } from '../proxy/call.ts'

/** `maybe` from the moment at which a call is under way that would change it until one has succeeded. */
export type Certainty = 'yes' | 'maybe' | 'no'

/** A volume as far as the driver's answers tell. */
export interface KnownVolume {
  readonly id: string
  readonly name: string
  exists: Certainty
  /** 0 where the driver does not say. */
  capacity: bigint
  /** By node id. */
  readonly nodes: Map<string, Certainty>
  /** By the path of the mount. */
  readonly mounts: Map<string, Certainty>
  /** Calls under way. */
  busy: number
  /** The number of the last event about it. */
  changed: number
}

interface CreatedVolume {
  readonly volumeId: string
  readonly capacityBytes: bigint
}

/** Reads every call and knows what the driver has said to be so. */
export class Ledger {
  readonly #volumes = new Map<string, KnownVolume>()
  #count = 0

  get volumes(): readonly KnownVolume[] {
    return [...this.#volumes.values()]
  }

  get(id: string): KnownVolume | undefined {
    return this.#volumes.get(id)
  }

  /** The number of the last event: what has not changed since is settled. */
  get mark(): number {
    return this.#count
  }

  see(call: ProxiedCall): void {
    this.#count += 1
    if (call.method === 'CreateVolume') return this.#onCreate(call)
    const volume = this.#volumes.get(text(call.request['volumeId']))
    if (volume === undefined) return
    volume.changed = this.#count
    volume.busy += call.end === undefined ? 1 : -1
    const certainty = call.end === undefined ? 'maybe' : call.code === 0 ? 'done' : 'failed'
    if (certainty !== 'failed') this.#apply(volume, call, certainty)
  }

  #onCreate({ request, response, code }: ProxiedCall): void {
    const made = response?.['volume'] as CreatedVolume | undefined
    if (code !== 0 || made === undefined) return
    const { volumeId: id, capacityBytes: capacity } = made
    const known = this.#volumes.get(id)
    if (known?.exists === 'yes') return
    const fresh = { id, name: text(request['name']), exists: 'yes' as const, capacity, busy: known?.busy ?? 0 }
    this.#volumes.set(id, { ...fresh, nodes: new Map(), mounts: new Map(), changed: this.#count })
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
        volume.exists = certainty === 'done' ? 'no' : 'maybe'
        return
      case 'ControllerPublishVolume':
        return begin(volume.nodes, node)
      case 'ControllerUnpublishVolume':
        for (const each of node === '' ? [...volume.nodes.keys()] : [node]) end(volume.nodes, each)
        return
      case 'NodeStageVolume':
        return begin(volume.mounts, staging)
      case 'NodeUnstageVolume':
        return end(volume.mounts, staging)
      case 'NodePublishVolume':
        return begin(volume.mounts, target)
      case 'NodeUnpublishVolume':
        return end(volume.mounts, target)
      case 'ControllerExpandVolume':
        if (certainty === 'done') volume.capacity = larger(volume.capacity, response?.['capacityBytes'])
        return
    }
  }
}

/** The keys of a map that are so for certain. */
export function certain(map: ReadonlyMap<string, Certainty>): readonly string[] {
  return [...map].flatMap(([key, certainty]) => (certainty === 'yes' ? [key] : []))
}

function larger(capacity: bigint, answered: unknown): bigint {
  return typeof answered === 'bigint' && answered > capacity ? answered : capacity
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

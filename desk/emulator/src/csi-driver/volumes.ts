import { type Clock, systemClock } from '@csi-sidecars/base'
import type { VolumeCapability } from '@csi-sidecars/csi-proto'
import { DriverFailure, invalidArgument } from './driver-failure.ts'
import { type NewId, numberedIds } from './new-id.ts'
import type { DriverSettings } from './settings.ts'
import { Snapshots } from './snapshots.ts'

/** The attachment of a volume to one node. */
export interface StoredAttachment {
  readonly capability: VolumeCapability
  readonly readonly: boolean
}

/** The volume or the snapshot from which a volume was created. */
export interface StoredVolumeSource {
  readonly of: 'volume' | 'snapshot'
  readonly id: string
}

/** A volume of the emulated driver. */
export interface StoredVolume {
  readonly id: string
  readonly name: string
  capacityBytes: bigint
  readonly context: Readonly<Record<string, string>>
  readonly parameters: Readonly<Record<string, string>>
  mutableParameters: Readonly<Record<string, string>>
  /** The volume or the snapshot that the volume was created from. */
  readonly source: StoredVolumeSource | undefined
  /** The topology from which the volume is accessible. Undefined if it is accessible from everywhere. */
  readonly topology: Readonly<Record<string, string>> | undefined
  /** The attachments by node ID. */
  readonly attachments: Map<string, StoredAttachment>
  /** The staged capabilities by staging path. */
  readonly staged: Map<string, VolumeCapability>
  /** The mounted capabilities by target path. */
  readonly mounted: Map<string, VolumeCapability>
}

interface VolumesOptions {
  readonly clock?: Pick<Clock, 'now'>
  /** Default: the prefix and a number that grows. */
  readonly newId?: NewId
}

/** The volumes in the storage of the driver. They survive a crash of the driver. */
export class Volumes {
  readonly snapshots: Snapshots
  readonly #settings: DriverSettings
  readonly #newId: NewId
  readonly #byId = new Map<string, StoredVolume>()

  constructor(settings: DriverSettings, { clock = systemClock, newId }: VolumesOptions = {}) {
    this.#settings = settings
    this.#newId = newId ?? numberedIds()
    this.snapshots = new Snapshots(settings, { clock, newId: newId ?? numberedIds() })
  }

  get all(): readonly StoredVolume[] {
    return [...this.#byId.values()]
  }

  get(id: string): StoredVolume | undefined {
    return this.#byId.get(id)
  }

  named(name: string): StoredVolume | undefined {
    return this.all.find((volume) => volume.name === name)
  }

  /** Adds a volume. Creates an ID if `parts` has none. */
  add(fields: Partial<StoredVolume> & { name: string; capacityBytes: bigint }): StoredVolume {
    const volume: StoredVolume = {
      id: this.#newId('vol'),
      context: {},
      parameters: {},
      mutableParameters: {},
      source: undefined,
      topology: undefined,
      attachments: new Map(),
      staged: new Map(),
      mounted: new Map(),
      ...fields,
    }
    this.#byId.set(volume.id, volume)
    return volume
  }

  delete(id: string): void {
    this.#byId.delete(id)
  }

  /** Returns the volume with an ID. An unknown volume is refused or added, as the setting `unknownVolumes` demands. */
  require(id: string): StoredVolume {
    if (id === '') throw invalidArgument('volume_id is required')
    const volume = this.#byId.get(id)
    if (volume !== undefined) return volume
    if (this.#settings.unknownVolumes === 'adopt') return this.add({ id, name: id, capacityBytes: 0n })
    throw new DriverFailure('NOT_FOUND', `volume ${JSON.stringify(id)} does not exist`)
  }

  /** Returns the number of volumes that are attached to a node. */
  countOn(nodeId: string): number {
    return this.all.filter((volume) => volume.attachments.has(nodeId)).length
  }
}

import type { Clock } from '@csi-sidecars/base'
import type { Snapshot, Timestamp, VolumeGroupSnapshot } from '@csi-sidecars/csi-proto'
import { DriverFailure } from './driver-failure.ts'
import type { NewId } from './new-id.ts'
import type { DriverSettings } from './settings.ts'

/** A snapshot of the emulated driver. */
export interface StoredSnapshot {
  readonly id: string
  /** The requested name; empty for a member of a group snapshot. */
  readonly name: string
  readonly volumeId: string
  readonly sizeBytes: bigint
  /** The time of the creation, in milliseconds since 1970. */
  readonly createdAt: number
  /** The ID of the group snapshot that contains the snapshot; empty for a single snapshot. */
  readonly groupId: string
}

/** A group snapshot of the emulated driver. */
export interface StoredGroup {
  readonly id: string
  readonly name: string
  readonly volumeIds: readonly string[]
  readonly createdAt: number
}

/** The snapshots in the storage of the driver. They survive a crash of the driver and the deletion of their volumes. */
export class Snapshots {
  readonly #settings: DriverSettings
  readonly #clock: Pick<Clock, 'now'>
  readonly #byId = new Map<string, StoredSnapshot>()
  readonly #groups = new Map<string, StoredGroup>()
  readonly #newId: NewId

  constructor(
    settings: DriverSettings,
    { clock, newId }: { readonly clock: Pick<Clock, 'now'>; readonly newId: NewId },
  ) {
    this.#settings = settings
    this.#clock = clock
    this.#newId = newId
  }

  get all(): readonly StoredSnapshot[] {
    return [...this.#byId.values()]
  }

  get groups(): readonly StoredGroup[] {
    return [...this.#groups.values()]
  }

  get(id: string): StoredSnapshot | undefined {
    return this.#byId.get(id)
  }

  /** Adds a snapshot. Creates an ID if `parts` has none. */
  add(fields: Partial<StoredSnapshot> & { volumeId: string; sizeBytes: bigint }): StoredSnapshot {
    const base = { id: this.#newId('snap'), name: '', groupId: '', createdAt: this.#clock.now() }
    const snapshot: StoredSnapshot = { ...base, ...fields }
    this.#byId.set(snapshot.id, snapshot)
    return snapshot
  }

  addGroup(fields: Partial<StoredGroup> & { name: string; volumeIds: readonly string[] }): StoredGroup {
    const group: StoredGroup = { id: this.#newId('group'), createdAt: this.#clock.now(), ...fields }
    this.#groups.set(group.id, group)
    return group
  }

  delete(id: string): void {
    this.#byId.delete(id)
  }

  deleteGroup(id: string): void {
    this.#groups.delete(id)
    for (const snapshot of this.membersOf(id)) this.#byId.delete(snapshot.id)
  }

  membersOf(groupId: string): readonly StoredSnapshot[] {
    return this.all.filter((snapshot) => snapshot.groupId === groupId)
  }

  /** Returns the snapshot with an ID. Throws NOT_FOUND if it does not exist. */
  require(id: string): StoredSnapshot {
    const snapshot = this.#byId.get(id)
    if (snapshot === undefined) throw new DriverFailure('NOT_FOUND', `snapshot ${JSON.stringify(id)} does not exist`)
    return snapshot
  }

  requireGroup(id: string): StoredGroup {
    const group = this.#groups.get(id)
    if (group === undefined) throw new DriverFailure('NOT_FOUND', `group snapshot ${JSON.stringify(id)} does not exist`)
    return group
  }

  isReady({ createdAt }: { readonly createdAt: number }): boolean {
    return this.#clock.now() >= createdAt + this.#settings.snapshotReadyAfterMs
  }

  /** Returns a snapshot in the form of CSI answers. */
  described(snapshot: StoredSnapshot): Snapshot {
    const { id, volumeId, sizeBytes, createdAt, groupId } = snapshot
    return {
      snapshotId: id,
      sourceVolumeId: volumeId,
      sizeBytes,
      creationTime: timestampOf(createdAt),
      readyToUse: this.isReady(snapshot),
      groupSnapshotId: groupId,
      accessibleTopology: [],
    }
  }

  describedGroup(group: StoredGroup): VolumeGroupSnapshot {
    return {
      groupSnapshotId: group.id,
      snapshots: this.membersOf(group.id).map((each) => this.described(each)),
      creationTime: timestampOf(group.createdAt),
      readyToUse: this.isReady(group),
    }
  }
}

function timestampOf(ms: number): Timestamp {
  return { seconds: BigInt(Math.floor(ms / 1000)), nanos: (ms % 1000) * 1_000_000 }
}

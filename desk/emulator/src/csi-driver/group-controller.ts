import { GroupControllerServiceCapability_RPC_Type } from '@csi-sidecars/csi-proto'
import { DriverFailure, invalidArgument } from './driver-failure.ts'
import type { Request, Response } from './methods.ts'
import type { DriverSettings } from './settings.ts'
import type { StoredGroup } from './snapshots.ts'
import type { Volumes } from './volumes.ts'

/** The GroupController service. It exists only with the plugin capability GROUP_CONTROLLER_SERVICE. */
export class GroupController {
  readonly #settings: DriverSettings
  readonly #volumes: Volumes

  constructor(settings: DriverSettings, volumes: Volumes) {
    this.#settings = settings
    this.#volumes = volumes
  }

  GroupControllerGetCapabilities(): Response<'GroupControllerGetCapabilities'> {
    this.#needsService()
    const type = GroupControllerServiceCapability_RPC_Type.CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT
    return { capabilities: this.#settings.groupSnapshots ? [{ type: { $case: 'rpc', value: { type } } }] : [] }
  }

  CreateVolumeGroupSnapshot(request: Request<'CreateVolumeGroupSnapshot'>): Response<'CreateVolumeGroupSnapshot'> {
    this.#needsGroups()
    const { name, sourceVolumeIds: volumeIds } = request
    if (name === '') throw invalidArgument('name is required')
    if (volumeIds.length === 0) throw invalidArgument('source_volume_ids are required')
    const { snapshots } = this.#volumes
    const existing = snapshots.groups.find((group) => group.name === name)
    if (existing !== undefined) {
      if (!sameNames(existing.volumeIds, volumeIds)) {
        throw new DriverFailure('ALREADY_EXISTS', `group snapshot ${name} exists with other volumes`)
      }
      return { groupSnapshot: snapshots.describedGroup(existing) }
    }
    const volumes = volumeIds.map((id) => this.#volumes.require(id))
    const group = snapshots.addGroup({ name, volumeIds })
    for (const { id, capacityBytes } of volumes) {
      snapshots.add({ volumeId: id, sizeBytes: capacityBytes, groupId: group.id, createdAt: group.createdAt })
    }
    return { groupSnapshot: snapshots.describedGroup(group) }
  }

  DeleteVolumeGroupSnapshot(request: Request<'DeleteVolumeGroupSnapshot'>): Response<'DeleteVolumeGroupSnapshot'> {
    this.#needsGroups()
    const { groupSnapshotId: id, snapshotIds } = request
    if (id === '') throw invalidArgument('group_snapshot_id is required')
    const group = this.#volumes.snapshots.groups.find((each) => each.id === id)
    if (group === undefined) return {}
    this.#checkMembers(group, snapshotIds)
    this.#volumes.snapshots.deleteGroup(id)
    return {}
  }

  GetVolumeGroupSnapshot(request: Request<'GetVolumeGroupSnapshot'>): Response<'GetVolumeGroupSnapshot'> {
    this.#needsGroups()
    const { groupSnapshotId: id, snapshotIds } = request
    if (id === '') throw invalidArgument('group_snapshot_id is required')
    const group = this.#volumes.snapshots.requireGroup(id)
    this.#checkMembers(group, snapshotIds)
    return { groupSnapshot: this.#volumes.snapshots.describedGroup(group) }
  }

  /** Throws unless the request names all snapshots of the group, as the CSI spec requires. */
  #checkMembers(group: StoredGroup, snapshotIds: readonly string[]): void {
    const members = this.#volumes.snapshots.membersOf(group.id).map((snapshot) => snapshot.id)
    if (!sameNames(members, snapshotIds)) throw invalidArgument(`snapshot_ids are not those of group ${group.id}`)
  }

  #needsService(): void {
    if (this.#settings.plugin.includes('GROUP_CONTROLLER_SERVICE')) return
    throw new DriverFailure('UNIMPLEMENTED', 'unknown service csi.v1.GroupController')
  }

  #needsGroups(): void {
    this.#needsService()
    if (this.#settings.groupSnapshots) return
    throw new DriverFailure('UNIMPLEMENTED', 'the driver lacks CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT')
  }
}

function sameNames(one: readonly string[], other: readonly string[]): boolean {
  return one.toSorted().join('\n') === other.toSorted().join('\n')
}

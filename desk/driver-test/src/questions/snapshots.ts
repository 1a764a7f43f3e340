import { CODES } from '@csi-sidecars/csi'
import {
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  CreateSnapshot,
  DeleteSnapshot,
  DeleteVolume,
  ListSnapshots,
  type Snapshot,
  type Volume,
} from '@csi-sidecars/csi-proto'
import type { Setting } from './setting.ts'

/** Creates, lists and restores snapshots. Deletes one snapshot before its source volume, and one after it. */
export async function checkSnapshots(setting: Setting): Promise<void> {
  if (!setting.deps.driver.capabilities.controller.has(ControllerRpc.CREATE_DELETE_SNAPSHOT)) return
  const volume = await setting.created(setting.create('snapshot'))
  if (volume === undefined) return
  const snapshotId = await createdSnapshot(setting, volume, 'first')
  if (snapshotId !== undefined) {
    // A restarted driver must still know its snapshots.
    setting.deps.kill?.()
    await listed(setting, snapshotId, volume)
    await setting.copiedTwice('restored', { $case: 'snapshot', value: { snapshotId } })
    await deletedSnapshot(setting, snapshotId, volume)
  }
  await deletedAfterSource(setting, volume)
}

/** Creates a snapshot and repeats the call, which must return the same snapshot, until it is ready. Returns its ID. */
export async function createdSnapshot(setting: Setting, volume: Volume, name: string): Promise<string | undefined> {
  const { volumeId } = volume
  const request = requestOf(setting, volume, name)
  let first: Snapshot | undefined
  for (let tries = READY_TRIES; tries > 0; tries -= 1) {
    const demand = { subjectId: volumeId, check: 'snapshots', description: 'CreateSnapshot' } as const
    const { response } = await setting.demand(CreateSnapshot, request, demand)
    const snapshot = response?.snapshot
    if (snapshot === undefined || (first !== undefined && first.snapshotId !== snapshot.snapshotId)) break
    const { snapshotId, sourceVolumeId } = snapshot
    if (sourceVolumeId !== volumeId) {
      find(setting, volumeId, `a snapshot of ${volumeId} names ${JSON.stringify(sourceVolumeId)} as its source`)
    }
    // The first answer is never enough, so that CreateSnapshot is called at least twice.
    if (first !== undefined && snapshot.readyToUse) return snapshotId
    if (first !== undefined) await setting.deps.pause(READY_MS)
    first ??= snapshot
  }
  return first?.snapshotId
}

const READY_TRIES = 20
const READY_MS = 500

export function requestOf({ deps }: Setting, { volumeId: sourceVolumeId }: Volume, name: string) {
  const ownRequest = { name: `csi-devcluster-snapshot-${name}-${deps.unique}`, sourceVolumeId }
  return { ...ownRequest, secrets: {}, parameters: {}, accessibilityRequirements: undefined }
}

/** Deletes the snapshot twice, because the deletion of a missing snapshot must succeed. */
export async function deletedSnapshot(setting: Setting, snapshotId: string, { volumeId }: Volume): Promise<void> {
  const demand = { subjectId: volumeId, check: 'snapshots', description: 'DeleteSnapshot', twice: true } as const
  await setting.demand(DeleteSnapshot, { snapshotId, secrets: {} }, demand)
}

/** Deletes the source of a snapshot. The driver must keep the snapshot, or refuse the deletion and keep both. */
async function deletedAfterSource(setting: Setting, volume: Volume): Promise<void> {
  const { volumeId } = volume
  const snapshotId = await createdSnapshot(setting, volume, 'second')
  if (snapshotId === undefined) return setting.deleted(volumeId)
  const other = await setting.created(setting.create('snapshot-other'))
  if (other !== undefined) {
    const description = 'CreateSnapshot of a known name and another volume'
    const demand = { subjectId: undefined, check: 'strict', description, codes: ['AlreadyExists'] } as const
    await setting.demand(CreateSnapshot, requestOf(setting, other, 'second'), demand)
    await setting.deleted(other.volumeId)
  }
  const description = 'DeleteVolume of a volume with a snapshot'
  const demand = { subjectId: volumeId, check: 'snapshots', description, codes: ['OK', 'FailedPrecondition'] } as const
  const { code } = await setting.demand(DeleteVolume, { volumeId, secrets: {} }, demand)
  await listed(setting, snapshotId, volume)
  await setting.copiedTwice('restored-later', { $case: 'snapshot', value: { snapshotId } })
  await deletedSnapshot(setting, snapshotId, volume)
  if (code !== CODES.OK) await setting.deleted(volumeId)
}

async function listed(setting: Setting, snapshotId: string, { volumeId }: Volume): Promise<void> {
  if (!setting.deps.driver.capabilities.controller.has(ControllerRpc.LIST_SNAPSHOTS)) return
  const all = { maxEntries: 0, startingToken: '', sourceVolumeId: '', snapshotId: '', secrets: {} }
  for (const filter of [{ snapshotId }, { sourceVolumeId: volumeId }]) {
    const { code, response } = await setting.ask(ListSnapshots, { ...all, ...filter })
    const ids = response?.entries.map(({ snapshot }) => snapshot?.snapshotId) ?? []
    if (code === CODES.OK && ids.length === 1 && ids[0] === snapshotId) continue
    const [by] = Object.keys(filter)
    find(setting, volumeId, `ListSnapshots by ${by} does not list ${snapshotId} alone, but ${JSON.stringify(ids)}`)
  }
}

function find(setting: Setting, subjectId: string, text: string): void {
  setting.deps.find({ check: 'snapshots', subjectId, text })
}

import { CODES } from '@csi-sidecars/csi'
import {
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  CreateSnapshot,
  type CreateSnapshotRequest,
  CreateVolume,
  DeleteSnapshot,
  DeleteVolume,
  ListSnapshots,
  type Snapshot,
  type Volume,
} from '@csi-sidecars/csi-proto'
import { type Demand, type Setting, UNKNOWN } from './setting.ts'

/** Creates, lists and restores snapshots. Deletes one snapshot before its source volume, and one after it. */
export async function checkSnapshots(setting: Setting): Promise<void> {
  if (!setting.parts.driver.capabilities.controller.has(ControllerRpc.CREATE_DELETE_SNAPSHOT)) return
  const volume = await setting.created(setting.create('snapshot'))
  if (volume === undefined) return
  const snapshotId = await createdSnapshot(setting, volume, 'first')
  if (snapshotId !== undefined) {
    await listed(setting, snapshotId, volume)
    await restored(setting, snapshotId, 'restored')
    await deletedSnapshot(setting, snapshotId, volume)
  }
  await asksStrictly(setting, volume)
  await deletedAfterSource(setting, volume)
}

/** Creates a snapshot and repeats the call, which must return the same snapshot, until it is ready. Returns its ID. */
export async function createdSnapshot(setting: Setting, volume: Volume, name: string): Promise<string | undefined> {
  const { volumeId } = volume
  const request = requestOf(setting, volume, name)
  let first: Snapshot | undefined
  for (let tries = READY_TRIES; tries > 0; tries -= 1) {
    const what = first === undefined ? 'CreateSnapshot' : 'CreateSnapshot again'
    const { response } = await setting.demand(CreateSnapshot, request, { about: volumeId, check: 'snapshots', what })
    const snapshot = response?.snapshot
    if (snapshot === undefined) break
    const { snapshotId, sourceVolumeId } = snapshot
    if (sourceVolumeId !== volumeId) {
      find(setting, volumeId, `a snapshot of ${volumeId} names ${JSON.stringify(sourceVolumeId)} as its source`)
    }
    if (first !== undefined && snapshotId !== first.snapshotId) {
      find(setting, volumeId, `CreateSnapshot of ${request.name} gave ${first.snapshotId}, and then ${snapshotId}`)
      break
    }
    // The first answer is never enough, so that CreateSnapshot is called at least twice.
    if (first !== undefined && snapshot.readyToUse) return snapshotId
    if (first !== undefined) await setting.parts.pause(READY_MS)
    first ??= snapshot
  }
  return first?.snapshotId
}

const READY_TRIES = 20
const READY_MS = 500

function requestOf({ parts }: Setting, { volumeId: sourceVolumeId }: Volume, name: string) {
  const own = { name: `csi-devcluster-snapshot-${name}-${parts.unique}`, sourceVolumeId }
  return { ...own, secrets: {}, parameters: {}, accessibilityRequirements: undefined }
}

/** Deletes the snapshot twice, because the deletion of a missing snapshot must succeed. */
export async function deletedSnapshot(
  setting: Setting,
  snapshotId: string,
  { volumeId: about }: Volume,
): Promise<void> {
  for (const what of ['DeleteSnapshot', 'DeleteSnapshot again']) {
    await setting.demand(DeleteSnapshot, { snapshotId, secrets: {} }, { about, check: 'snapshots', what })
  }
}

async function asksStrictly(setting: Setting, volume: Volume): Promise<void> {
  const create = requestOf(setting, volume, 'strict')
  const created = [
    ['without a name', { ...create, name: '' }, 'InvalidArgument'],
    ['without a volume', { ...create, sourceVolumeId: '' }, 'InvalidArgument'],
    ['of an unknown volume', { ...create, sourceVolumeId: UNKNOWN }, 'NotFound'],
  ] as const
  for (const [what, request, code] of created) {
    await createStrictly(setting, request, { what: `CreateSnapshot ${what}`, codes: [code] })
  }
  const rows = [
    ['without a snapshot', '', 'InvalidArgument'],
    ['of an unknown snapshot', UNKNOWN, 'OK'],
  ] as const
  for (const [what, snapshotId, code] of rows) {
    const demand = { about: undefined, check: 'strict', what: `DeleteSnapshot ${what}`, codes: [code] } as const
    await setting.demand(DeleteSnapshot, { snapshotId, secrets: {} }, demand)
  }
}

/** Sends a CreateSnapshot that the driver must refuse. Deletes the snapshot if the driver creates one. */
async function createStrictly(
  setting: Setting,
  request: CreateSnapshotRequest,
  { known, ...demand }: Pick<Demand, 'what' | 'codes'> & { readonly known?: string },
): Promise<void> {
  const { response } = await setting.demand(CreateSnapshot, request, { about: undefined, check: 'strict', ...demand })
  const { snapshotId } = response?.snapshot ?? {}
  if (snapshotId !== undefined && snapshotId !== known) await setting.ask(DeleteSnapshot, { snapshotId, secrets: {} })
}

/** Deletes the source of a snapshot. The driver must keep the snapshot, or refuse the deletion and keep both. */
async function deletedAfterSource(setting: Setting, volume: Volume): Promise<void> {
  const { volumeId: about } = volume
  const snapshotId = await createdSnapshot(setting, volume, 'second')
  if (snapshotId === undefined) return setting.deleted(about)
  const other = await setting.created(setting.create('snapshot-other'))
  if (other !== undefined) {
    const what = 'CreateSnapshot of a known name and another volume'
    const request = requestOf(setting, other, 'second')
    await createStrictly(setting, request, { what, codes: ['AlreadyExists'], known: snapshotId })
    await setting.deleted(other.volumeId)
  }
  const what = 'DeleteVolume of a volume with a snapshot'
  const demand = { about, check: 'snapshots', what, codes: ['OK', 'FailedPrecondition'] } as const
  const { code } = await setting.demand(DeleteVolume, { volumeId: about, secrets: {} }, demand)
  await listed(setting, snapshotId, volume)
  await restored(setting, snapshotId, 'restored-later')
  await deletedSnapshot(setting, snapshotId, volume)
  if (code !== CODES.OK) await setting.deleted(about)
}

async function listed(setting: Setting, snapshotId: string, { volumeId }: Volume): Promise<void> {
  if (!setting.parts.driver.capabilities.controller.has(ControllerRpc.LIST_SNAPSHOTS)) return
  const all = { maxEntries: 0, startingToken: '', sourceVolumeId: '', snapshotId: '', secrets: {} }
  for (const filter of [{ snapshotId }, { sourceVolumeId: volumeId }]) {
    const { code, response } = await setting.ask(ListSnapshots, { ...all, ...filter })
    const ids = response?.entries.map(({ snapshot }) => snapshot?.snapshotId) ?? []
    if (code === CODES.OK && ids.length === 1 && ids[0] === snapshotId) continue
    const [by] = Object.keys(filter)
    find(setting, volumeId, `ListSnapshots by ${by} does not list ${snapshotId} alone, but ${JSON.stringify(ids)}`)
  }
}

async function restored(setting: Setting, snapshotId: string, name: string): Promise<void> {
  const volumeContentSource = { type: { $case: 'snapshot' as const, value: { snapshotId } } }
  const request = setting.create(name, { volumeContentSource })
  const volume = await setting.created(request)
  if (volume !== undefined) await setting.repeat(CreateVolume, request)
  if (volume !== undefined) await setting.deleted(volume.volumeId)
}

function find(setting: Setting, about: string, text: string): void {
  setting.parts.find({ check: 'snapshots', about, text })
}

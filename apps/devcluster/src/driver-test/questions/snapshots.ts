import { CODES } from '@csi-sidecars/csi'
import {
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  CreateSnapshot,
  CreateVolume,
  DeleteSnapshot,
  ListSnapshots,
  type Volume,
} from '@csi-sidecars/csi-proto'
import { type Setting, UNKNOWN } from './setting.ts'

/** Creates a snapshot, again, lists it, restores it into a volume, and deletes it before or after its source. */
export async function checkSnapshots(setting: Setting): Promise<void> {
  const { controller } = setting.parts.driver.capabilities
  if (!controller.has(ControllerRpc.CREATE_DELETE_SNAPSHOT)) return
  const volume = await setting.created(setting.create('snapshot'))
  if (volume === undefined) return
  const snapshotId = await snapshotOf(setting, volume)
  if (snapshotId !== undefined) {
    if (controller.has(ControllerRpc.LIST_SNAPSHOTS)) await listed(setting, snapshotId, volume)
    await restored(setting, snapshotId)
    for (const what of ['DeleteSnapshot', 'DeleteSnapshot again']) {
      const reply = await setting.ask(DeleteSnapshot, { snapshotId, secrets: {} })
      setting.expect({ check: 'snapshots', what, about: volume.volumeId, reply, codes: ['OK'] })
    }
  }
  const rows = [
    ['DeleteSnapshot without a snapshot', '', 'InvalidArgument'],
    ['DeleteSnapshot of an unknown snapshot', UNKNOWN, 'OK'],
  ] as const
  for (const [what, id, code] of rows) {
    const reply = await setting.ask(DeleteSnapshot, { snapshotId: id, secrets: {} })
    setting.expect({ check: 'strict', what, about: undefined, reply, codes: [code] })
  }
  await setting.deleted(volume.volumeId)
}

/** Its id, which the same name gives again. */
async function snapshotOf(setting: Setting, { volumeId }: Volume): Promise<string | undefined> {
  const name = `csi-devcluster-snapshot-${setting.parts.unique}`
  const request = { sourceVolumeId: volumeId, name, secrets: {}, parameters: {}, accessibilityRequirements: undefined }
  const ids: string[] = []
  for (const what of ['CreateSnapshot', 'CreateSnapshot again']) {
    const reply = await setting.ask(CreateSnapshot, request)
    setting.expect({ check: 'snapshots', what, about: volumeId, reply, codes: ['OK'] })
    const snapshot = reply.response?.snapshot
    if (snapshot === undefined) continue
    ids.push(snapshot.snapshotId)
    if (snapshot.sourceVolumeId !== volumeId) {
      find(
        setting,
        volumeId,
        `a snapshot of ${volumeId} names ${JSON.stringify(snapshot.sourceVolumeId)} as its source`,
      )
    }
  }
  const [first, second = first] = ids
  if (first !== second) find(setting, volumeId, `CreateSnapshot of ${name} gave ${first}, and then ${second}`)
  return first
}

async function listed(setting: Setting, snapshotId: string, { volumeId }: Volume): Promise<void> {
  const all = { maxEntries: 0, startingToken: '', sourceVolumeId: '', snapshotId: '', secrets: {} }
  for (const filter of [{ snapshotId }, { sourceVolumeId: volumeId }]) {
    const { code, response } = await setting.ask(ListSnapshots, { ...all, ...filter })
    const ids = response?.entries.map(({ snapshot }) => snapshot?.snapshotId) ?? []
    if (code === CODES.OK && ids.length === 1 && ids[0] === snapshotId) continue
    const [by] = Object.keys(filter)
    find(setting, volumeId, `ListSnapshots by ${by} does not list ${snapshotId} alone, but ${JSON.stringify(ids)}`)
  }
}

async function restored(setting: Setting, snapshotId: string): Promise<void> {
  const volumeContentSource = { type: { $case: 'snapshot' as const, value: { snapshotId } } }
  const request = setting.create('restored', { volumeContentSource })
  const volume = await setting.created(request)
  // The checks of all calls find what is wrong with the second answer.
  await setting.ask(CreateVolume, request)
  if (volume !== undefined) await setting.deleted(volume.volumeId)
}

function find(setting: Setting, about: string, text: string): void {
  setting.parts.find({ check: 'snapshots', about, text })
}

import { stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { messageOf } from '@csi-sidecars/base'
import { type CodeName, volumeCapabilityOf } from '@csi-sidecars/csi'
import { CreateVolume, NodeServiceCapability_RPC_Type as NodeRpc, type VolumeCapability } from '@csi-sidecars/csi-proto'
import { giveToGroup, nodeCan } from '@csi-sidecars/volume-controllers'
import { mount, placeOf, unmount } from './mounted.ts'
import type { Setting } from './setting.ts'

/** A mount option that each file system of Linux supports. */
const OPTION = 'noatime'
const GROUP = 4321
/** The codes by which a driver may refuse mount options. A driver must not ignore the options. */
const REFUSALS: readonly CodeName[] = ['InvalidArgument']

/** Checks that the mount options of a StorageClass and the `fsGroup` of a pod take effect. */
export async function checkMountOptions(setting: Setting): Promise<void> {
  const [node] = setting.ownNodes
  if (node === undefined) return
  const { deps } = setting
  const takesGroup = nodeCan(node.driver, NodeRpc.VOLUME_MOUNT_GROUP)
  const capability = withOption('')
  const request = setting.create('options', { volumeCapabilities: [capability] })
  const demand = {
    subjectId: request.name,
    check: 'options',
    description: 'CreateVolume',
    codes: ['OK', ...REFUSALS],
  } as const
  const volume = (await setting.demand(CreateVolume, request, demand)).response?.volume
  if (volume === undefined) return
  const find = (text: string): void =>
    deps.find({ check: 'options', subjectId: volume.volumeId, text: `volume ${volume.volumeId} ${text}` })
  const use = { node, capability: withOption(takesGroup ? String(GROUP) : ''), refusals: REFUSALS }
  const mounted = await mount(setting, volume, use)
  const options = mounted && (await deps.mountOptions(mounted.path))
  if (mounted !== undefined && options !== undefined) {
    if (!options.has(OPTION)) find(`is mounted with ${[...options].join(',')}, without ${OPTION}`)
    const wrong = await wrongGroup(mounted.path, takesGroup, deps.csiDriver?.spec.fsGroupPolicy)
    if (wrong !== undefined) find(wrong)
  }
  // The unmount also runs after a refused publish, which may have left a stage or an attachment.
  await unmount(setting, volume, mounted ?? placeOf(setting, volume, node))
  await setting.deleted(volume.volumeId)
}

function withOption(volumeMountGroup: string): VolumeCapability {
  const use = { volumeMode: 'Filesystem', accessModes: ['ReadWriteOnce'], mountOptions: [OPTION] }
  const { accessMode, accessType } = volumeCapabilityOf(use, false)
  if (accessType?.$case !== 'mount') return { accessMode, accessType }
  return { accessMode, accessType: { $case: 'mount', value: { ...accessType.value, volumeMountGroup } } }
}

/** Checks the group of a new file. The driver (VOLUME_MOUNT_GROUP) or kubelet (`fsGroupPolicy: File`) must set it. */
async function wrongGroup(path: string, byDriver: boolean, policy: string | undefined): Promise<string | undefined> {
  // The test gives the files to the group as kubelet does, which requires root.
  if (!byDriver && (policy !== 'File' || process.getuid?.() !== 0)) return undefined
  try {
    if (!byDriver) giveToGroup(path, { gid: GROUP, onRootMismatch: false })
    const file = join(path, 'csi-devcluster-group')
    await writeFile(file, '')
    const { gid } = await stat(file)
    if (gid === GROUP) return undefined
    return `has files of group ${gid}, though ${byDriver ? 'it was mounted for' : 'a kubelet has given it to'} group ${GROUP}`
  } catch (error) {
    return `cannot be used by group ${GROUP}: ${messageOf(error)}`
  }
}

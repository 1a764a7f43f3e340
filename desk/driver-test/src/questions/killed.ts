import { ControllerPublishVolume, type Volume } from '@csi-sidecars/csi-proto'
import { canList, listsNodes } from '../driver/lists.ts'
import { mount, placeOf, unmount } from './mounted.ts'
import { publishRequest, type Setting } from './setting.ts'

/** Kills the driver after an attach and after a stage. The restarted driver must still know attach and stage. */
export async function checkKills(setting: Setting): Promise<void> {
  const { kill, nodes } = setting.deps
  const [first] = setting.nodes
  if (kill === undefined || first === undefined) return
  const volume = await setting.created(setting.create('killed'))
  if (volume === undefined) return
  const node = nodes.all.find(({ info }) => info.nodeId === first.nodeId)
  const afterAttach = async (): Promise<void> => {
    kill()
    await isKnown(setting, volume, first.nodeId)
  }
  if (node !== undefined) {
    const afterStage = async (): Promise<void> => kill()
    const mounted = await mount(setting, volume, { node, check: 'kept', afterAttach, afterStage })
    // The unmount also runs after a refused publish, which may have left a stage or an attachment.
    await unmount(setting, volume, mounted ?? placeOf(setting, volume, node))
  } else if (setting.has('ControllerPublishVolume')) {
    const { code } = await setting.ask(ControllerPublishVolume, publishRequest(volume, first.nodeId))
    if (code === 0) await afterAttach()
    await setting.unpublished(volume.volumeId, first.nodeId)
  }
  await setting.deleted(volume.volumeId)
}

async function isKnown(setting: Setting, { volumeId }: Volume, nodeId: string): Promise<void> {
  const { driver } = setting.deps
  if (!canList(driver)) return
  const listed = await setting.listed(volumeId)
  const find = (text: string): void => setting.deps.find({ check: 'kept', subjectId: volumeId, text })
  if (listed === undefined) find(`volume ${volumeId} was created and is not listed after the driver was killed`)
  else if (listsNodes(driver) && listed.status?.publishedNodeIds.includes(nodeId) !== true) {
    find(`volume ${volumeId} was published to ${nodeId} and is not listed there after the driver was killed`)
  }
}

import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ControllerPublishVolume, DeleteVolume, NodePublishVolume, NodeUnpublishVolume } from '@csi-sidecars/csi-proto'
import { ephemeralHandle } from '@csi-sidecars/volume-controllers'
import type { OwnNode } from '../driver/nodes.ts'
import { expand, mount, placeOf, unmount } from './mounted.ts'
import { ONE_NODE, publishRequest, type Setting } from './setting.ts'

/** Repeats each call in the life of one volume. The random faults of a seed do not always repeat each method. */
export async function checkRepeated(setting: Setting): Promise<void> {
  const volume = await setting.created(setting.create('repeated'))
  if (volume === undefined) return
  const [node] = setting.ownNodes
  const [first] = setting.nodes
  const expands = setting.has('ControllerExpandVolume')
  if (node !== undefined) {
    const mounted = await mount(setting, volume, { node, twice: true })
    if (mounted !== undefined && expands) await expand(setting, volume, { mounted, twice: true })
    // The unmount also runs after a refused publish, which may have left a stage or an attachment.
    await unmount(setting, volume, { ...(mounted ?? placeOf(setting, volume, node)), twice: true })
  } else if (setting.has('ControllerPublishVolume') && first !== undefined) {
    const request = publishRequest(volume, first.nodeId)
    const { code } = await setting.ask(ControllerPublishVolume, request)
    if (code === 0) await setting.repeat(ControllerPublishVolume, request)
    if (code === 0 && expands) await expand(setting, volume, { mounted: undefined, twice: true })
    await setting.unpublished(volume.volumeId, first.nodeId, { twice: true })
  }
  await setting.deleted(volume.volumeId)
  await setting.repeat(DeleteVolume, { volumeId: volume.volumeId, secrets: {} })
  if (node !== undefined && setting.deps.abilities.can.inline === true) await inlineTwice(setting, node)
}

/** Publishes and unpublishes an inline volume of a pod, each call twice. */
async function inlineTwice(setting: Setting, node: OwnNode): Promise<void> {
  const { csiDriver, inlineAttributes, unique } = setting.deps
  const podUid = `csi-devcluster-${unique}`
  const volumeId = ephemeralHandle(podUid, 'data')
  const { path: targetPath } = placeOf(setting, { volumeId }, node)
  await mkdir(dirname(targetPath), { recursive: true })
  const request = {
    volumeId,
    volumeContext: { ...inlineAttributes, ...(csiDriver?.spec?.podInfoOnMount === true && podInfo(podUid)) },
    publishContext: {},
    volumeCapability: ONE_NODE,
    stagingTargetPath: '',
    targetPath,
    readonly: false,
    secrets: {},
  }
  const demand = { subjectId: volumeId, driver: node.driver, twice: true }
  const inline = `of the inline volume ${volumeId}`
  await setting.demand(NodePublishVolume, request, { ...demand, description: `NodePublishVolume ${inline}` })
  const end = { volumeId, targetPath }
  await setting.demand(NodeUnpublishVolume, end, { ...demand, description: `NodeUnpublishVolume ${inline}` })
}

/** Returns the volume attributes that a kubelet adds about the pod. */
function podInfo(podUid: string): Record<string, string> {
  const prefix = 'csi.storage.k8s.io'
  return {
    [`${prefix}/pod.name`]: podUid,
    [`${prefix}/pod.namespace`]: 'default',
    [`${prefix}/pod.uid`]: podUid,
    [`${prefix}/serviceAccount.name`]: 'default',
    [`${prefix}/ephemeral`]: 'true',
  }
}

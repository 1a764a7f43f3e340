import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import {
  ControllerExpandVolume,
  DeleteVolume,
  NodeExpandVolume,
  NodePublishVolume,
  NodeServiceCapability_RPC_Type as NodeRpc,
  NodeUnpublishVolume,
  type Volume,
} from '@csi-sidecars/csi-proto'
import { nodeCan } from '../../driver/driver.ts'
import { ephemeralHandle } from '../../volume-names.ts'
import type { OwnNode } from '../driver/nodes.ts'
import { type Mounted, mount, placeOf, unmount } from './mounted.ts'
import { GIB, ONE_NODE, type Setting } from './setting.ts'

/** Calls everything twice in the life of one volume. Not every seed loses an answer of each call. */
export async function checkRepeated(setting: Setting): Promise<void> {
  const volume = await setting.created(setting.create('repeated'))
  if (volume === undefined) return
  const [node] = setting.ownNodes
  const [first] = setting.nodes
  if (node !== undefined) {
    const mounted = await mount(setting, volume, { node, twice: true })
    if (mounted !== undefined) await expandTwice(setting, volume, mounted)
    // What a publish has refused is to be undone all the same.
    await unmount(setting, volume, { ...(mounted ?? placeOf(setting, volume, node)), twice: true })
  } else if (setting.has('ControllerPublishVolume') && first !== undefined) {
    const reply = await setting.published(volume, first.nodeId, { twice: true })
    if (reply.code === 0) await expandTwice(setting, volume, undefined)
    await setting.unpublished(volume.volumeId, first.nodeId, { twice: true })
  }
  await setting.deleted(volume.volumeId)
  await setting.repeat(DeleteVolume, { volumeId: volume.volumeId, secrets: {} })
  if (node !== undefined && setting.parts.abilities.can.inline === true) await inlineTwice(setting, node)
}

/** A volume that a pod declares itself: its publish creates it, and its unpublish deletes it. */
async function inlineTwice(setting: Setting, node: OwnNode): Promise<void> {
  const { calls, csiDriver, inlineAttributes, unique } = setting.parts
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
  const about = { check: 'converges', about: volumeId, codes: ['OK'] } as const
  const published = await calls.ask(node.driver, NodePublishVolume, request)
  const what = `NodePublishVolume of the inline volume ${volumeId}`
  if (setting.expect({ ...about, what, reply: published }))
    await setting.repeat(NodePublishVolume, request, node.driver)
  const ended = await calls.ask(node.driver, NodeUnpublishVolume, { volumeId, targetPath })
  setting.expect({ ...about, what: `NodeUnpublishVolume of the inline volume ${volumeId}`, reply: ended })
  if (ended.code === 0) await setting.repeat(NodeUnpublishVolume, { volumeId, targetPath }, node.driver)
}

/** What a kubelet reports of a pod. */
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

async function expandTwice(setting: Setting, volume: Volume, mounted: Mounted | undefined): Promise<void> {
  if (!setting.has('ControllerExpandVolume')) return
  const { volumeId } = volume
  const capacityRange = { requiredBytes: 2n * (volume.capacityBytes || GIB), limitBytes: 0n }
  const request = { volumeId, capacityRange, volumeCapability: ONE_NODE, secrets: {} }
  const reply = await setting.ask(ControllerExpandVolume, request)
  const about = { check: 'converges', about: volumeId, codes: ['OK'] } as const
  if (!setting.expect({ ...about, what: `ControllerExpandVolume of ${volumeId}`, reply })) return
  await setting.repeat(ControllerExpandVolume, request)
  const byNode = reply.response?.nodeExpansionRequired === true
  if (!byNode || mounted === undefined || !nodeCan(mounted.node.driver, NodeRpc.EXPAND_VOLUME)) return
  const { driver } = mounted.node
  const ofNode = { ...request, volumePath: mounted.path, stagingTargetPath: mounted.staging }
  const grown = await setting.parts.calls.ask(driver, NodeExpandVolume, ofNode)
  if (!setting.expect({ ...about, what: `NodeExpandVolume of ${volumeId}`, reply: grown })) return
  await setting.repeat(NodeExpandVolume, ofNode, driver)
}

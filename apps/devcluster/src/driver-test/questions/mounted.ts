import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import {
  NodePublishVolume,
  NodeServiceCapability_RPC_Type as NodeRpc,
  NodeStageVolume,
  NodeUnpublishVolume,
  NodeUnstageVolume,
  type Volume,
} from '@csi-sidecars/csi-proto'
import { nodeCan } from '../../driver/driver.ts'
import type { CheckName } from '../checks/checks.ts'
import type { Reply } from '../driver/direct-calls.ts'
import type { OwnNode } from '../driver/nodes.ts'
import { ONE_NODE, type Setting } from './setting.ts'

/** A volume that is used on a node as a kubelet uses it. */
export interface Mounted {
  readonly node: OwnNode
  /** Where its files are. */
  readonly path: string
  readonly staging: string
}

interface Use {
  readonly node: OwnNode
  readonly readonly?: boolean
  /** The promise that a refusal breaks. */
  readonly check?: CheckName
  readonly afterAttach?: () => Promise<void>
  readonly afterStage?: () => Promise<void>
}

/** Where the volume is used on the node. */
export function placeOf({ parts: { nodes } }: Setting, { volumeId }: Volume, node: OwnNode): Mounted {
  const folder = join(nodes.folder, `node-${nodes.all.indexOf(node) + 1}`, 'direct', volumeId)
  const staged = nodeCan(node.driver, NodeRpc.STAGE_UNSTAGE_VOLUME)
  return { node, path: join(folder, 'target'), staging: staged ? join(folder, 'staging') : '' }
}

/** Attaches, stages and publishes the volume; undefined, and a finding, where the driver refuses that. */
export async function mount(setting: Setting, volume: Volume, use: Use): Promise<Mounted | undefined> {
  const { node, readonly = false, check = 'converges' } = use
  const { calls } = setting.parts
  const { path, staging } = placeOf(setting, volume, node)
  const staged = staging !== ''
  const { volumeId, volumeContext } = volume
  const well = (method: string, reply: Reply<object>): boolean =>
    setting.expect({ check, what: `${method} of ${volumeId}`, about: volumeId, reply, codes: ['OK'] })
  let publishContext: { [key: string]: string } = {}
  if (setting.has('ControllerPublishVolume')) {
    const reply = await setting.published(volume, node.info.nodeId)
    if (!well('ControllerPublishVolume', reply)) return undefined
    publishContext = { ...reply.response?.publishContext }
    await use.afterAttach?.()
  }
  const request = {
    volumeId,
    volumeContext,
    publishContext,
    volumeCapability: ONE_NODE,
    stagingTargetPath: staging,
    secrets: {},
  }
  // A kubelet creates both.
  await mkdir(staged ? staging : dirname(path), { recursive: true })
  if (staged && !well('NodeStageVolume', await calls.ask(node.driver, NodeStageVolume, request))) return undefined
  if (staged) await use.afterStage?.()
  const published = await calls.ask(node.driver, NodePublishVolume, { ...request, targetPath: path, readonly })
  return well('NodePublishVolume', published) ? { node, path, staging } : undefined
}

/** Undoes it in the opposite order. */
export async function unmount(setting: Setting, { volumeId }: Volume, { node, path, staging }: Mounted): Promise<void> {
  const { calls } = setting.parts
  const well = (method: string, reply: Reply<object>): boolean =>
    setting.expect({ check: 'converges', what: `${method} of ${volumeId}`, about: volumeId, reply, codes: ['OK'] })
  well('NodeUnpublishVolume', await calls.ask(node.driver, NodeUnpublishVolume, { volumeId, targetPath: path }))
  if (staging !== '') {
    well('NodeUnstageVolume', await calls.ask(node.driver, NodeUnstageVolume, { volumeId, stagingTargetPath: staging }))
  }
  if (setting.has('ControllerPublishVolume')) await setting.unpublished(volumeId, node.info.nodeId)
}

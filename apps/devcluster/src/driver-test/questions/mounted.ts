import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { CODES, type CodeName } from '@csi-sidecars/csi'
import {
  NodePublishVolume,
  NodeServiceCapability_RPC_Type as NodeRpc,
  NodeStageVolume,
  NodeUnpublishVolume,
  NodeUnstageVolume,
  type UnaryMethod,
  type Volume,
  type VolumeCapability,
} from '@csi-sidecars/csi-proto'
import { nodeCan } from '../../driver/driver.ts'
import { methodOf } from '../../proxy/call.ts'
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
  readonly capability?: VolumeCapability
  /** The promise that a refusal breaks. */
  readonly check?: CheckName
  /** Codes by which the driver may refuse it without breaking a promise. */
  readonly refusals?: readonly CodeName[]
  /** Each call again when it has succeeded, as after a lost answer. */
  readonly twice?: boolean
  readonly afterAttach?: () => Promise<void>
  readonly afterStage?: () => Promise<void>
}

/** Where the volume is used on the node. */
export function placeOf({ parts: { nodes } }: Setting, { volumeId }: Pick<Volume, 'volumeId'>, node: OwnNode): Mounted {
  const folder = join(nodes.folder, `node-${nodes.all.indexOf(node) + 1}`, 'direct', volumeId)
  const staged = nodeCan(node.driver, NodeRpc.STAGE_UNSTAGE_VOLUME)
  return { node, path: join(folder, 'target'), staging: staged ? join(folder, 'staging') : '' }
}

/** Attaches, stages and publishes the volume; undefined, and mostly a finding, where the driver refuses that. */
export async function mount(setting: Setting, volume: Volume, use: Use): Promise<Mounted | undefined> {
  const { node, readonly = false, check = 'converges', capability = ONE_NODE, refusals = [], twice = false } = use
  const { calls } = setting.parts
  const { path, staging } = placeOf(setting, volume, node)
  const staged = staging !== ''
  const { volumeId, volumeContext } = volume
  const well = (method: string, reply: Reply<object>): boolean =>
    setting.expect({ check, what: `${method} of ${volumeId}`, about: volumeId, reply, codes: ['OK', ...refusals] }) &&
    reply.code === CODES.OK
  let publishContext: { [key: string]: string } = {}
  if (setting.has('ControllerPublishVolume')) {
    const reply = await setting.published(volume, node.info.nodeId, { volumeCapability: capability, twice })
    if (!well('ControllerPublishVolume', reply)) return undefined
    publishContext = { ...reply.response?.publishContext }
    await use.afterAttach?.()
  }
  const request = {
    volumeId,
    volumeContext,
    publishContext,
    volumeCapability: capability,
    stagingTargetPath: staging,
    secrets: {},
  }
  // A kubelet creates both.
  await mkdir(staged ? staging : dirname(path), { recursive: true })
  if (staged && !well('NodeStageVolume', await calls.ask(node.driver, NodeStageVolume, request))) return undefined
  if (staged && twice) await setting.repeat(NodeStageVolume, request, node.driver)
  if (staged) await use.afterStage?.()
  const ofTarget = { ...request, targetPath: path, readonly }
  const published = await calls.ask(node.driver, NodePublishVolume, ofTarget)
  if (!well('NodePublishVolume', published)) return undefined
  if (twice) await setting.repeat(NodePublishVolume, ofTarget, node.driver)
  return { node, path, staging }
}

interface Undoing extends Mounted {
  readonly twice?: boolean
}

/** Undoes it in the opposite order. */
export async function unmount(setting: Setting, { volumeId }: Volume, undoing: Undoing): Promise<void> {
  const { node, path, staging, twice = false } = undoing
  const call = async <Q extends object>(method: UnaryMethod<Q, object>, request: Q): Promise<void> => {
    const reply = await setting.parts.calls.ask(node.driver, method, request)
    const what = `${methodOf(method.path)} of ${volumeId}`
    const well = setting.expect({ check: 'converges', what, about: volumeId, reply, codes: ['OK'] })
    if (well && twice) await setting.repeat(method, request, node.driver)
  }
  await call(NodeUnpublishVolume, { volumeId, targetPath: path })
  if (staging !== '') await call(NodeUnstageVolume, { volumeId, stagingTargetPath: staging })
  if (setting.has('ControllerPublishVolume')) await setting.unpublished(volumeId, node.info.nodeId, { twice })
}

import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { CodeName } from '@csi-sidecars/csi'
import {
  ControllerExpandVolume,
  type ControllerExpandVolumeResponse,
  ControllerPublishVolume,
  NodeExpandVolume,
  NodePublishVolume,
  NodeServiceCapability_RPC_Type as NodeRpc,
  NodeStageVolume,
  NodeUnpublishVolume,
  NodeUnstageVolume,
  type Volume,
  type VolumeCapability,
} from '@csi-sidecars/csi-proto'
import { nodeCan } from '@csi-sidecars/volume-controllers'
import type { OwnNode } from '../driver/nodes.ts'
import { GIB } from '../driver/tries.ts'
import { type Demand, ONE_NODE, publishRequest, type Setting } from './setting.ts'

/** A volume that is published on a node, as by a kubelet. */
export interface Mounted {
  readonly node: OwnNode
  /** The target path. */
  readonly path: string
  readonly staging: string
}

interface Use extends Pick<Demand, 'check' | 'twice'> {
  readonly node: OwnNode
  readonly readonly?: boolean
  readonly capability?: VolumeCapability
  /** The codes by which the driver may refuse a call without a finding. */
  readonly refusals?: readonly CodeName[]
  readonly afterAttach?: () => Promise<void>
  readonly afterStage?: () => Promise<void>
}

/** Returns the paths at which the volume is staged and published on the node. */
export function placeOf({ deps: { nodes } }: Setting, { volumeId }: Pick<Volume, 'volumeId'>, node: OwnNode): Mounted {
  const folder = join(nodes.folder, `node-${nodes.all.indexOf(node) + 1}`, 'direct', volumeId)
  const staged = nodeCan(node.driver, NodeRpc.STAGE_UNSTAGE_VOLUME)
  return { node, path: join(folder, 'target'), staging: staged ? join(folder, 'staging') : '' }
}

/**
 * Attaches, stages and publishes the volume. Undefined if the driver refuses one of these calls. A refusal with a code
 * that is not in `refusals` is a finding.
 */
export async function mount(setting: Setting, volume: Volume, use: Use): Promise<Mounted | undefined> {
  const { node, readonly = false, check = 'converges', capability = ONE_NODE, refusals = [], twice = false } = use
  const { path, staging } = placeOf(setting, volume, node)
  const { volumeId, volumeContext } = volume
  const demand: Demand = { subjectId: volumeId, check, codes: ['OK', ...refusals], twice }
  let publishContext: { [key: string]: string } = {}
  if (setting.has('ControllerPublishVolume')) {
    const request = publishRequest(volume, node.info.nodeId, capability)
    const { response } = await setting.demand(ControllerPublishVolume, request, demand)
    if (response === undefined) return undefined
    publishContext = { ...response.publishContext }
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
  const ofNode = { ...demand, driver: node.driver }
  // A kubelet creates the staging path, and the parent of the target path.
  await mkdir(staging === '' ? dirname(path) : staging, { recursive: true })
  if (staging !== '') {
    const { response } = await setting.demand(NodeStageVolume, request, ofNode)
    if (response === undefined) return undefined
    await use.afterStage?.()
  }
  const { response } = await setting.demand(NodePublishVolume, { ...request, targetPath: path, readonly }, ofNode)
  return response && { node, path, staging }
}

/** Unpublishes, unstages and detaches the volume. */
export async function unmount(
  setting: Setting,
  { volumeId }: Volume,
  { node, path, staging, twice = false }: Mounted & Pick<Demand, 'twice'>,
): Promise<void> {
  const demand = { subjectId: volumeId, driver: node.driver, twice }
  await setting.demand(NodeUnpublishVolume, { volumeId, targetPath: path }, demand)
  if (staging !== '') await setting.demand(NodeUnstageVolume, { volumeId, stagingTargetPath: staging }, demand)
  if (setting.has('ControllerPublishVolume')) await setting.unpublished(volumeId, node.info.nodeId, { twice })
}

/** Returns a capacity range of at least twice the size of the volume. */
export function largerThan({ capacityBytes }: Volume) {
  return { requiredBytes: 2n * (capacityBytes || GIB), limitBytes: 0n }
}

interface Growing extends Pick<Demand, 'twice'> {
  readonly mounted: Mounted | undefined
  readonly capability?: VolumeCapability
}

/** Expands the volume at the controller, and if necessary on the node. Undefined if the driver refuses. */
export async function expand(
  setting: Setting,
  volume: Volume,
  { mounted, capability = ONE_NODE, twice = false }: Growing,
): Promise<ControllerExpandVolumeResponse | undefined> {
  const { volumeId } = volume
  const request = { volumeId, capacityRange: largerThan(volume), volumeCapability: capability, secrets: {} }
  const { response } = await setting.demand(ControllerExpandVolume, request, { subjectId: volumeId, twice })
  if (mounted === undefined || response?.nodeExpansionRequired !== true || !expandsOn(mounted.node)) return response
  const { node, path: volumePath, staging: stagingTargetPath } = mounted
  const ofNode = { ...request, volumePath, stagingTargetPath }
  await setting.demand(NodeExpandVolume, ofNode, { subjectId: volumeId, driver: node.driver, twice })
  return response
}

export function expandsOn({ driver }: OwnNode): boolean {
  return nodeCan(driver, NodeRpc.EXPAND_VOLUME)
}

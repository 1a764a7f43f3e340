import { messageOf } from '@csi-sidecars/base'
import type { Driver } from '@csi-sidecars/csi'
import {
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  type NodeGetInfoResponse,
  PluginCapability_Service_Type as PluginService,
  PluginCapability_VolumeExpansion_Type as VolumeExpansion,
} from '@csi-sidecars/csi-proto'
import type { CSIDriver } from '@csi-sidecars/kube-types'
import { nodeInfo } from '@csi-sidecars/volume-controllers'
import type { DriverCan, Zone } from '../chaos/action.ts'
import type { CapabilityKind } from '../option-values.ts'
import type { DriverTestOptions } from '../options.ts'
import { retrying } from './direct-calls.ts'
import { canList, listsNodes } from './lists.ts'
import { nodeLacks, nodeMethods, type OwnNode, OwnNodes } from './nodes.ts'
import { Tries, type TryParts } from './tries.ts'

/** The abilities that the test uses with this driver, and the reasons why it does not use others. */
export interface Abilities {
  readonly can: DriverCan
  readonly nodes: readonly NodeGetInfoResponse[]
  readonly leftOut: readonly string[]
}

/** The flags and answers that decide which parts of the driver are tested. */
export interface AbilityOptions
  extends TryParts,
    Pick<DriverTestOptions, 'nodeIds' | 'capabilities'>,
    Partial<Pick<DriverTestOptions, 'attributes'>> {
  readonly address: string
  /** The node services with separate sockets. Empty: the node service is emulated. */
  readonly ownNodes: readonly OwnNode[]
  readonly csiDriver: CSIDriver | undefined
  /** True if the test may kill the driver. */
  readonly crash: boolean
  /** Called before the test tries an ability of the driver, with the name of the ability. */
  readonly onTrial?: (ability: string) => void
}

/** Reads the driver's capabilities and tries to create a volume of each kind. Throws if no test is possible. */
export async function learnAbilities(driver: Driver, options: AbilityOptions, signal: AbortSignal): Promise<Abilities> {
  const { controller, plugin } = driver.capabilities
  const { address, crash, capabilities, csiDriver, onTrial } = options
  const ownNodes = new OwnNodes(options.ownNodes, '')
  const has = (rpc: ControllerRpc): boolean => controller.has(rpc)
  if (!has(ControllerRpc.CREATE_DELETE_VOLUME)) {
    throw new Error(`the driver at ${address} lacks CREATE_DELETE_VOLUME: there is no life of a volume to test`)
  }
  const nodes = await learnNodes(driver, options, signal)
  const tries = new Tries(driver, options, signal)
  onTrial?.('volumes')
  const refusal = await tries.refusalOf('mount')
  if (refusal !== undefined) throw new Error(`the driver at ${address} creates no volume: ${refusal}`)
  const leftOut: string[] = []
  const unless = (holds: boolean, text: string): boolean => {
    if (!holds) leftOut.push(text)
    return holds
  }
  const offered = async (
    kind: CapabilityKind,
    ability: string,
    refused: () => Promise<string | undefined>,
  ): Promise<boolean> => {
    onTrial?.(ability)
    const why = capabilities?.includes(kind) === false ? 'not among --capabilities' : await refused()
    return unless(why === undefined, `${ability}: ${why}`)
  }
  const block = await offered('block', 'volumes of mode Block', () => tries.refusalOf('block'))
  const shared = await offered('shared', 'volumes of several nodes', () => tries.refusalOf('shared'))
  const clone = await offered('clone', 'clones', async () =>
    has(ControllerRpc.CLONE_VOLUME) ? await tries.refusalOfClone() : 'the driver lacks CLONE_VOLUME',
  )
  const zones = zonesOf(nodes)
  const inZones = await offered('topology', 'topology', async () => whyNoTopology(driver, zones))
  const inline = await offered('inline', 'inline volumes', async () => whyNotInline(options))
  const attaches =
    unless(has(ControllerRpc.PUBLISH_UNPUBLISH_VOLUME), 'attaching: the driver lacks PUBLISH_UNPUBLISH_VOLUME') &&
    unless(csiDriver?.spec.attachRequired !== false, 'attaching: the CSIDriver says that it is not required')
  const offline = plugin.volumeExpansion.has(VolumeExpansion.OFFLINE)
  const expand =
    unless(has(ControllerRpc.EXPAND_VOLUME), 'expansion: the driver lacks EXPAND_VOLUME') &&
    unless(!offline, 'expansion: the driver expands volumes only while they are not in use')
  unless(canList(driver), 'leaks that no answer names, and volumes that vanish: the driver lacks LIST_VOLUMES')
  unless(listsNodes(driver), 'attachments that vanish or stay: the driver lacks LIST_VOLUMES_PUBLISHED_NODES')
  const moreNodes = ownNodes.all.length > 0 ? '--node' : '--node-ids'
  unless(nodes.length > 1, `moves from node to node: one node is known; ${moreNodes} names more`)
  unless(crash, 'the death of the driver: no --driver-command starts it')
  const snapshots = has(ControllerRpc.CREATE_DELETE_SNAPSHOT)
  unless(snapshots, 'snapshots: the driver lacks CREATE_DELETE_SNAPSHOT')
  onTrial?.('modifications')
  const refused = await whyNotModified(driver, options, tries)
  const modify = unless(refused === undefined, `modification: ${refused}`)
  leftOut.push(...nodeLacks(ownNodes))
  const methods = [
    'CreateVolume',
    'DeleteVolume',
    ...(attaches ? ['ControllerPublishVolume', 'ControllerUnpublishVolume'] : []),
    ...(expand ? ['ControllerExpandVolume'] : []),
    ...(modify ? ['ControllerModifyVolume'] : []),
    ...nodeMethods(ownNodes),
  ]
  const further = { snapshots, ...(inZones && { zones }), ...(modify && { attributes: options.attributes }) }
  return { can: { expand, shared, block, clone, inline, ...further, crash, methods }, nodes, leftOut }
}

function whyNoTopology({ capabilities }: Driver, zones: readonly Zone[]): string | undefined {
  if (!capabilities.plugin.services.has(PluginService.VOLUME_ACCESSIBILITY_CONSTRAINTS)) {
    return 'the driver lacks VOLUME_ACCESSIBILITY_CONSTRAINTS'
  }
  return zones.length === 0 ? 'no node says where it is; --node asks them' : undefined
}

async function whyNotModified(
  { capabilities }: Driver,
  { attributes = [] }: AbilityOptions,
  tries: Tries,
): Promise<string | undefined> {
  if (!capabilities.controller.has(ControllerRpc.MODIFY_VOLUME)) return 'the driver lacks MODIFY_VOLUME'
  if (attributes.length === 0) return '--attributes says what can be modified'
  return await tries.refusalOfAttributes(attributes)
}

function whyNotInline({ csiDriver, ownNodes }: AbilityOptions): string | undefined {
  if (ownNodes.length === 0) return 'the node service is emulated'
  const modes = csiDriver?.spec.volumeLifecycleModes ?? []
  return modes.includes('Ephemeral') ? undefined : 'no --csidriver has Ephemeral among its volumeLifecycleModes'
}

async function learnNodes(
  driver: Driver,
  { address, nodeIds, ownNodes, clock }: AbilityOptions,
  signal: AbortSignal,
): Promise<readonly NodeGetInfoResponse[]> {
  if (ownNodes.length > 0) return ownNodes.map(({ info }) => info)
  if (nodeIds.length > 0) {
    return nodeIds.map((nodeId) => ({ nodeId, maxVolumesPerNode: 0n, accessibleTopology: undefined }))
  }
  try {
    return [await retrying({ clock, signal }, () => nodeInfo(driver, signal))]
  } catch (cause) {
    signal.throwIfAborted()
    const remedy = 'name the nodes that it knows by --node-ids'
    throw new Error(`the driver at ${address} does not answer NodeGetInfo: ${messageOf(cause)}; ${remedy}`, { cause })
  }
}

/** Returns the groups of nodes with the same topology. Empty if a node reports no topology. */
export function zonesOf(nodes: readonly NodeGetInfoResponse[]): readonly Zone[] {
  const zones = new Map<string, { nodes: string[]; segments: Readonly<Record<string, string>> }>()
  for (const [index, { accessibleTopology }] of nodes.entries()) {
    const segments = accessibleTopology?.segments ?? {}
    const entries = Object.entries(segments).sort(([a], [b]) => (a < b ? -1 : 1))
    if (entries.length === 0) return []
    const key = JSON.stringify(entries)
    const zone = zones.get(key) ?? { nodes: [], segments }
    zone.nodes.push(`node-${index + 1}`)
    zones.set(key, zone)
  }
  return [...zones.values()]
}

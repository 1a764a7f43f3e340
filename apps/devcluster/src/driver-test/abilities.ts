import { type Clock, messageOf } from '@csi-sidecars/base'
import { type Driver, volumeCapabilityOf } from '@csi-sidecars/csi'
import {
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  CreateVolume,
  DeleteVolume,
  type NodeGetInfoResponse,
  PluginCapability_VolumeExpansion_Type as VolumeExpansion,
} from '@csi-sidecars/csi-proto'
import type { DriverCan } from '../chaos/plan.ts'
import { nodeInfo } from '../driver/driver.ts'
import { canList, tellsNodes } from './lists.ts'
import { patiently } from './patient.ts'

/** What the test can try with this driver, and what it cannot and why. */
export interface Abilities {
  readonly can: DriverCan
  readonly nodes: readonly NodeGetInfoResponse[]
  readonly leftOut: readonly string[]
}

export interface AbilityOptions {
  readonly address: string
  /** What the driver calls its nodes; empty: its node service is asked. */
  readonly nodeIds: readonly string[]
  readonly parameters: Readonly<Record<string, string>>
  /** Kinds of volumes to try; undefined: all that the driver takes. */
  readonly capabilities: readonly Kind[] | undefined
  /** The driver may be killed. */
  readonly crash: boolean
  readonly clock: Clock
}

/** Kinds of volumes that not every driver makes; a mounted one for one node is asked of all. */
export const KINDS = ['block', 'shared'] as const
export type Kind = (typeof KINDS)[number]

const USES = {
  mount: { volumeMode: 'Filesystem', accessModes: ['ReadWriteOnce'] },
  block: { volumeMode: 'Block', accessModes: ['ReadWriteOnce'] },
  shared: { volumeMode: 'Filesystem', accessModes: ['ReadWriteMany'] },
} as const

const TRY_MS = 120_000
const SIZE = 1024n ** 3n

/** Asks the driver, and makes a volume of each kind to see whether it does. Throws when it cannot be tested at all. */
export async function learnAbilities(driver: Driver, options: AbilityOptions, signal: AbortSignal): Promise<Abilities> {
  const { controller, plugin } = driver.capabilities
  const has = (what: ControllerRpc): boolean => controller.has(what)
  if (!has(ControllerRpc.CREATE_DELETE_VOLUME)) {
    throw new Error(`the driver at ${options.address} lacks CREATE_DELETE_VOLUME: there is no life of a volume to test`)
  }
  const nodes = await learnNodes(driver, options, signal)
  const refusal = await refusalOf(driver, 'mount', options, signal)
  if (refusal !== undefined) throw new Error(`the driver at ${options.address} makes no volume: ${refusal}`)
  const leftOut: string[] = []
  const offered = async (kind: Kind, what: string): Promise<boolean> => {
    const why = await whyNot(driver, kind, options, signal)
    if (why !== undefined) leftOut.push(`${what}: ${why}`)
    return why === undefined
  }
  const block = await offered('block', 'volumes of mode Block')
  const shared = await offered('shared', 'volumes of several nodes')
  const attaches = has(ControllerRpc.PUBLISH_UNPUBLISH_VOLUME)
  const offline = plugin.volumeExpansion.has(VolumeExpansion.OFFLINE)
  const expand = has(ControllerRpc.EXPAND_VOLUME) && !offline
  const unless = (holds: boolean, text: string): void => void (holds || leftOut.push(text))
  unless(attaches, 'attaching: the driver lacks PUBLISH_UNPUBLISH_VOLUME')
  unless(has(ControllerRpc.EXPAND_VOLUME), 'expansion: the driver lacks EXPAND_VOLUME')
  unless(!offline, 'expansion: the driver expands volumes only while nobody uses them')
  unless(canList(driver), 'leaks that no answer names, and volumes that vanish: the driver lacks LIST_VOLUMES')
  unless(tellsNodes(driver), 'attachments that vanish or stay: the driver lacks LIST_VOLUMES_PUBLISHED_NODES')
  unless(nodes.length > 1, 'moves from node to node: one node is known; --node-ids names more')
  unless(options.crash, 'the death of the driver: no --driver-command starts it')
  leftOut.push('staging and mounting: the node service is played, so that nobody need be root')
  leftOut.push('modification, snapshots, clones and inline volumes: this test does not ask for them')
  const methods = [
    'CreateVolume',
    'DeleteVolume',
    ...(attaches ? ['ControllerPublishVolume', 'ControllerUnpublishVolume'] : []),
    ...(expand ? ['ControllerExpandVolume'] : []),
  ]
  return { can: { expand, shared, block, crash: options.crash, methods }, nodes, leftOut }
}

async function learnNodes(
  driver: Driver,
  { address, nodeIds, clock }: AbilityOptions,
  signal: AbortSignal,
): Promise<readonly NodeGetInfoResponse[]> {
  if (nodeIds.length > 0) {
    return nodeIds.map((nodeId) => ({ nodeId, maxVolumesPerNode: 0n, accessibleTopology: undefined }))
  }
  try {
    return [await patiently(clock, signal, () => nodeInfo(driver, signal))]
  } catch (cause) {
    signal.throwIfAborted()
    const remedy = 'name the nodes that it knows by --node-ids'
    throw new Error(`the driver at ${address} does not answer NodeGetInfo: ${messageOf(cause)}; ${remedy}`, { cause })
  }
}

async function whyNot(
  driver: Driver,
  kind: Kind,
  options: AbilityOptions,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (options.capabilities?.includes(kind) === false) return 'not among --capabilities'
  return await refusalOf(driver, kind, options, signal)
}

/** The driver's own words when it does not make such a volume. What it makes is deleted again. */
async function refusalOf(
  driver: Driver,
  kind: keyof typeof USES,
  { parameters, clock }: AbilityOptions,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { volumeMode, accessModes } = USES[kind]
  const use = { volumeMode, accessModes: [...accessModes], fsType: '', mountOptions: [] }
  const request = {
    name: `csi-devcluster-${kind}-${clock.now()}`,
    capacityRange: { requiredBytes: SIZE, limitBytes: 0n },
    volumeCapabilities: [volumeCapabilityOf(use, false)],
    parameters: { ...parameters },
    secrets: {},
    volumeContentSource: undefined,
    accessibilityRequirements: undefined,
    mutableParameters: {},
  }
  const limits = { timeoutMs: TRY_MS, signal }
  try {
    await patiently(clock, signal, async () => {
      const { volume } = await driver.call(CreateVolume, request, limits)
      await driver.call(DeleteVolume, { volumeId: volume?.volumeId ?? '', secrets: {} }, limits)
    })
    return undefined
  } catch (error) {
    signal.throwIfAborted()
    return messageOf(error)
  }
}

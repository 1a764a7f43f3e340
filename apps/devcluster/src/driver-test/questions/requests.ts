import type { CodeName, Driver } from '@csi-sidecars/csi'
import {
  ControllerExpandVolume,
  ControllerGetVolume,
  ControllerModifyVolume,
  ControllerPublishVolume,
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  ControllerUnpublishVolume,
  CreateVolume,
  DeleteVolume,
  ListVolumes,
  NodeExpandVolume,
  NodeGetVolumeStats,
  NodePublishVolume,
  NodeServiceCapability_RPC_Type as NodeRpc,
  NodeStageVolume,
  NodeUnpublishVolume,
  NodeUnstageVolume,
  type UnaryMethod,
  ValidateVolumeCapabilities,
  type Volume,
} from '@csi-sidecars/csi-proto'
import { UNKNOWN_ATTRIBUTES } from '../../chaos/objects.ts'
import { nodeCan } from '../../driver/driver.ts'
import { methodOf } from '../../proxy/call.ts'
import type { Reply } from '../driver/direct-calls.ts'
import { GIB, ONE_NODE, type Setting, UNKNOWN } from './setting.ts'

/** A request that no cluster sends, and the codes that CSI allows for it. */
interface Question {
  readonly what: string
  readonly ask: (known: Known, driver: Driver) => Promise<Reply<object>>
  readonly codes: readonly CodeName[]
}

/** What a request may name. */
export interface Known {
  readonly setting: Setting
  readonly volume: Volume
  readonly nodeId: string
  /** Below the folder of a node; nothing is there. */
  readonly path: string
}

interface Rows {
  readonly when: (setting: Setting) => boolean
  readonly rows: readonly Question[]
}

function of<Q extends object, R extends object>(
  method: UnaryMethod<Q, R>,
  when: Rows['when'],
  rows: readonly (readonly [what: string, request: (known: Known) => NoInfer<Q>, ...codes: CodeName[]])[],
): Rows {
  return {
    when,
    rows: rows.map(([what, request, ...codes]) => ({
      what: `${methodOf(method.path)} ${what}`,
      ask: (known, driver) => known.setting.parts.calls.ask(driver, method, request(known)),
      codes,
    })),
  }
}

const always = (): boolean => true
const lists = (what: ControllerRpc) => (setting: Setting) => can(setting.parts.driver, what)
const can = ({ capabilities }: Driver, what: ControllerRpc): boolean => capabilities.controller.has(what)
const called =
  (method: string) =>
  (setting: Setting): boolean =>
    setting.has(method)
const TOO_LARGE = 2n ** 62n
const secrets = {}

const publish = ({ volume, nodeId }: Known) => {
  const { volumeId, volumeContext } = volume
  return { volumeId, nodeId, volumeContext, volumeCapability: ONE_NODE, readonly: false, secrets }
}
const unpublish = ({ volume: { volumeId }, nodeId }: Known) => ({ volumeId, nodeId, secrets })
const validate = ({ volume: { volumeId, volumeContext } }: Known) => {
  return { volumeId, volumeContext, volumeCapabilities: [ONE_NODE], parameters: {}, mutableParameters: {}, secrets }
}
const expand = ({ volume: { volumeId, capacityBytes } }: Known) => {
  const capacityRange = { requiredBytes: capacityBytes || GIB, limitBytes: 0n }
  return { volumeId, capacityRange, volumeCapability: ONE_NODE, secrets }
}

/** Without --attributes no parameter is known, and a driver may look at parameters first. */
const modifyUnknown = ({ setting }: Known) => {
  const [attributes = UNKNOWN_ATTRIBUTES] = setting.parts.abilities.can.attributes ?? []
  return { volumeId: UNKNOWN, secrets, mutableParameters: { ...attributes } }
}

export const CONTROLLER_QUESTIONS: readonly Rows[] = [
  of(CreateVolume, always, [
    ['without a name', ({ setting }) => ({ ...setting.create('nameless'), name: '' }), 'InvalidArgument'],
    ['without capabilities', ({ setting }) => setting.create('useless', { volumeCapabilities: [] }), 'InvalidArgument'],
    ['of a known name with another size', ({ setting, volume }) => otherSize(setting, volume), 'AlreadyExists'],
    [
      'with a limit below what is required',
      ({ setting }) => setting.create('narrow', { capacityRange: { requiredBytes: 2n * GIB, limitBytes: GIB } }),
      'OutOfRange',
      'InvalidArgument',
    ],
    [
      'of 4 EiB',
      ({ setting }) => setting.create('huge', { capacityRange: { requiredBytes: TOO_LARGE, limitBytes: 0n } }),
      'OutOfRange',
      'ResourceExhausted',
      'OK',
    ],
    [
      'of one byte at most',
      ({ setting }) => setting.create('tiny', { capacityRange: { requiredBytes: 1n, limitBytes: 1n } }),
      'OutOfRange',
      'InvalidArgument',
      'OK',
    ],
  ]),
  of(ControllerPublishVolume, called('ControllerPublishVolume'), [
    ['without a volume', (known) => ({ ...publish(known), volumeId: '' }), 'InvalidArgument'],
    ['without a node', (known) => ({ ...publish(known), nodeId: '' }), 'InvalidArgument'],
    ['without a capability', (known) => ({ ...publish(known), volumeCapability: undefined }), 'InvalidArgument'],
    ['of an unknown volume', (known) => ({ ...publish(known), volumeId: UNKNOWN }), 'NotFound'],
    ['to an unknown node', (known) => ({ ...publish(known), nodeId: UNKNOWN }), 'NotFound'],
  ]),
  of(ControllerUnpublishVolume, called('ControllerUnpublishVolume'), [
    ['without a volume', (known) => ({ ...unpublish(known), volumeId: '' }), 'InvalidArgument'],
    ['of an unknown volume', (known) => ({ ...unpublish(known), volumeId: UNKNOWN }), 'OK', 'NotFound'],
  ]),
  of(ValidateVolumeCapabilities, always, [
    ['without a volume', (known) => ({ ...validate(known), volumeId: '' }), 'InvalidArgument'],
    ['without capabilities', (known) => ({ ...validate(known), volumeCapabilities: [] }), 'InvalidArgument'],
    ['of an unknown volume', (known) => ({ ...validate(known), volumeId: UNKNOWN }), 'NotFound'],
    ['of a volume as it was created', validate, 'OK'],
  ]),
  of(ControllerExpandVolume, called('ControllerExpandVolume'), [
    ['without a volume', (known) => ({ ...expand(known), volumeId: '' }), 'InvalidArgument'],
    ['without a size', (known) => ({ ...expand(known), capacityRange: undefined }), 'InvalidArgument'],
    ['of an unknown volume', (known) => ({ ...expand(known), volumeId: UNKNOWN }), 'NotFound'],
    ['to the size that it has', expand, 'OK'],
    [
      'to 4 EiB',
      (known) => ({ ...expand(known), capacityRange: { requiredBytes: TOO_LARGE, limitBytes: 0n } }),
      'OutOfRange',
      'ResourceExhausted',
      'OK',
    ],
  ]),
  of(ControllerModifyVolume, lists(ControllerRpc.MODIFY_VOLUME), [
    ['without a volume', () => ({ volumeId: '', secrets, mutableParameters: {} }), 'InvalidArgument'],
    ['of an unknown volume', modifyUnknown, 'NotFound', 'InvalidArgument'],
    [
      'with an unknown parameter',
      ({ volume: { volumeId } }) => ({ volumeId, secrets, mutableParameters: UNKNOWN_ATTRIBUTES }),
      'InvalidArgument',
    ],
  ]),
  of(ControllerGetVolume, lists(ControllerRpc.GET_VOLUME), [
    ['without a volume', () => ({ volumeId: '' }), 'InvalidArgument'],
    ['of an unknown volume', () => ({ volumeId: UNKNOWN }), 'NotFound'],
    ['of a volume that was created', ({ volume: { volumeId } }) => ({ volumeId }), 'OK'],
  ]),
  of(ListVolumes, lists(ControllerRpc.LIST_VOLUMES), [
    ['from an unknown token', () => ({ maxEntries: 0, startingToken: UNKNOWN }), 'Aborted'],
  ]),
  of(DeleteVolume, always, [
    ['without a volume', () => ({ volumeId: '', secrets }), 'InvalidArgument'],
    ['of an unknown volume', () => ({ volumeId: UNKNOWN, secrets }), 'OK'],
  ]),
]

function otherSize(setting: Setting, { capacityBytes }: Volume) {
  const requiredBytes = 2n * (capacityBytes > GIB ? capacityBytes : GIB)
  return setting.create('strict', { capacityRange: { requiredBytes, limitBytes: 0n } })
}

const onNodes = (what: NodeRpc) => (setting: Setting) =>
  setting.parts.nodes.all.length > 0 && setting.parts.nodes.all.every(({ driver }) => nodeCan(driver, what))
const hasNodes = (setting: Setting): boolean => setting.parts.nodes.all.length > 0

const stage = ({ volume: { volumeId, volumeContext }, path }: Known) => {
  return { volumeId, stagingTargetPath: path, volumeCapability: ONE_NODE, publishContext: {}, volumeContext, secrets }
}
const mount = (known: Known) => ({ ...stage(known), targetPath: `${known.path}-target`, readonly: false })
const stats = ({ volume: { volumeId }, path }: Known) => ({ volumeId, volumePath: path, stagingTargetPath: '' })
const grow = (known: Known) => {
  const { volumeId, volumePath, stagingTargetPath } = stats(known)
  return { volumeId, volumePath, stagingTargetPath, capacityRange: undefined, volumeCapability: undefined, secrets }
}

export const NODE_QUESTIONS: readonly Rows[] = [
  of(NodeStageVolume, onNodes(NodeRpc.STAGE_UNSTAGE_VOLUME), [
    ['without a volume', (known) => ({ ...stage(known), volumeId: '' }), 'InvalidArgument'],
    ['without a path', (known) => ({ ...stage(known), stagingTargetPath: '' }), 'InvalidArgument'],
    ['without a capability', (known) => ({ ...stage(known), volumeCapability: undefined }), 'InvalidArgument'],
  ]),
  of(NodeUnstageVolume, onNodes(NodeRpc.STAGE_UNSTAGE_VOLUME), [
    ['without a volume', ({ path }) => ({ volumeId: '', stagingTargetPath: path }), 'InvalidArgument'],
    ['without a path', ({ volume: { volumeId } }) => ({ volumeId, stagingTargetPath: '' }), 'InvalidArgument'],
  ]),
  of(NodePublishVolume, hasNodes, [
    ['without a volume', (known) => ({ ...mount(known), volumeId: '' }), 'InvalidArgument'],
    ['without a path', (known) => ({ ...mount(known), targetPath: '' }), 'InvalidArgument'],
    ['without a capability', (known) => ({ ...mount(known), volumeCapability: undefined }), 'InvalidArgument'],
  ]),
  of(NodeUnpublishVolume, hasNodes, [
    ['without a volume', ({ path }) => ({ volumeId: '', targetPath: path }), 'InvalidArgument'],
    ['without a path', ({ volume: { volumeId } }) => ({ volumeId, targetPath: '' }), 'InvalidArgument'],
  ]),
  of(NodeGetVolumeStats, onNodes(NodeRpc.GET_VOLUME_STATS), [
    ['without a volume', (known) => ({ ...stats(known), volumeId: '' }), 'InvalidArgument'],
    ['without a path', (known) => ({ ...stats(known), volumePath: '' }), 'InvalidArgument'],
    ['of an unknown volume', (known) => ({ ...stats(known), volumeId: UNKNOWN }), 'NotFound'],
    ['at a path where nothing is', stats, 'NotFound'],
  ]),
  of(NodeExpandVolume, onNodes(NodeRpc.EXPAND_VOLUME), [
    ['without a volume', (known) => ({ ...grow(known), volumeId: '' }), 'InvalidArgument'],
    ['without a path', (known) => ({ ...grow(known), volumePath: '' }), 'InvalidArgument'],
    ['of an unknown volume', (known) => ({ ...grow(known), volumeId: UNKNOWN }), 'NotFound'],
  ]),
]

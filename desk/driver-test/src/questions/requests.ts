import type { CodeName, Driver } from '@csi-sidecars/csi'
import {
  ControllerExpandVolume,
  ControllerGetVolume,
  ControllerModifyVolume,
  ControllerPublishVolume,
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  ControllerUnpublishVolume,
  CreateSnapshot,
  CreateVolume,
  DeleteSnapshot,
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
import { methodOf } from '@csi-sidecars/disturb'
import { UNKNOWN_ATTRIBUTES } from '../chaos/objects.ts'
import type { Reply } from '../driver/direct-calls.ts'
import { GIB } from '../driver/tries.ts'
import { ONE_NODE, publishRequest, type Setting, UNKNOWN } from './setting.ts'
import { requestOf } from './snapshots.ts'

/** A request that no cluster sends. Its answer must have a code that CSI allows. */
interface StrictRequest {
  /** The method of the request, such as `CreateVolume`. */
  readonly method: object
  readonly ask: (scope: RequestScope, driver: Driver) => Promise<Reply<object>>
}

/** The existing volume, node and folder that a request can name. */
export interface RequestScope {
  readonly setting: Setting
  readonly volume: Volume
  readonly nodeId: string
  /** A path in the folder of a node at which no file exists. */
  readonly path: string
}

interface Rows {
  readonly when: (setting: Setting) => boolean
  readonly rows: readonly StrictRequest[]
}

/** One wrong request: its name, the change to a correct request, and the codes that CSI allows in the answer. */
type Row<Q> = readonly [name: string, change: Partial<Q> | ((scope: RequestScope) => Partial<Q>), ...codes: CodeName[]]

function of<Q extends object, R extends object>(
  method: UnaryMethod<Q, R>,
  { when, usual }: { readonly when: Rows['when']; readonly usual: (scope: RequestScope) => NoInfer<Q> },
  rows: readonly Row<NoInfer<Q>>[],
): Rows {
  return {
    when,
    rows: rows.map(([change, differs, ...codes]) => {
      const description = `${methodOf(method.path)} ${change}`
      const ask: StrictRequest['ask'] = (scope, driver) => {
        const request = { ...usual(scope), ...(typeof differs === 'function' ? differs(scope) : differs) }
        return scope.setting.demand(method, request, {
          subjectId: undefined,
          driver,
          check: 'strict',
          description,
          codes,
        })
      }
      return { method, ask }
    }),
  }
}

const always = (): boolean => true
const offers = (rpc: ControllerRpc) => (setting: Setting) => setting.deps.driver.capabilities.controller.has(rpc)
const called =
  (method: string) =>
  (setting: Setting): boolean =>
    setting.has(method)
const takesSnapshots = offers(ControllerRpc.CREATE_DELETE_SNAPSHOT)
const hasNodes = (setting: Setting): boolean => setting.deps.nodes.all.length > 0
const onNodes = (rpc: NodeRpc) => (setting: Setting) => hasNodes(setting) && setting.deps.nodes.can(rpc)

const secrets = {}
const sized = (requiredBytes: bigint, limitBytes = 0n) => ({ capacityRange: { requiredBytes, limitBytes } })
const HUGE = sized(2n ** 62n)
const NO_VOLUME = { volumeId: '' }
const UNKNOWN_VOLUME = { volumeId: UNKNOWN }
const NO_CAPABILITY = { volumeCapability: undefined }

const volumeOf = ({ volume: { volumeId } }: RequestScope) => ({ volumeId })
const unpublish = ({ volume: { volumeId }, nodeId }: RequestScope) => ({ volumeId, nodeId, secrets })
const validate = ({ volume: { volumeId, volumeContext } }: RequestScope) => {
  return { volumeId, volumeContext, volumeCapabilities: [ONE_NODE], parameters: {}, mutableParameters: {}, secrets }
}
const expand = ({ volume: { volumeId, capacityBytes } }: RequestScope) => {
  return { volumeId, ...sized(capacityBytes || GIB), volumeCapability: ONE_NODE, secrets }
}

/** Returns a correct ControllerModifyVolume. Without `--attributes` its parameter is unknown to the driver. */
const modify = ({ setting, volume: { volumeId } }: RequestScope) => {
  const [attributes = UNKNOWN_ATTRIBUTES] = setting.deps.abilities.can.attributes ?? []
  return { volumeId, secrets, mutableParameters: { ...attributes } }
}

export const CONTROLLER_QUESTIONS: readonly Rows[] = [
  of(CreateVolume, { when: always, usual: ({ setting }) => setting.create('') }, [
    ['without a name', { name: '' }, 'InvalidArgument'],
    ['without capabilities', ({ setting }) => setting.create('useless', { volumeCapabilities: [] }), 'InvalidArgument'],
    ['of a known name with another size', ({ setting, volume }) => otherSize(setting, volume), 'AlreadyExists'],
    [
      'with a limit below what is required',
      ({ setting }) => setting.create('narrow', sized(2n * GIB, GIB)),
      'OutOfRange',
      'InvalidArgument',
    ],
    ['of 4 EiB', ({ setting }) => setting.create('huge', HUGE), 'OutOfRange', 'ResourceExhausted', 'OK'],
    [
      'of one byte at most',
      ({ setting }) => setting.create('tiny', sized(1n, 1n)),
      'OutOfRange',
      'InvalidArgument',
      'OK',
    ],
  ]),
  of(
    ControllerPublishVolume,
    { when: called('ControllerPublishVolume'), usual: ({ volume, nodeId }) => publishRequest(volume, nodeId) },
    [
      ['without a volume', NO_VOLUME, 'InvalidArgument'],
      ['without a node', { nodeId: '' }, 'InvalidArgument'],
      ['without a capability', NO_CAPABILITY, 'InvalidArgument'],
      ['of an unknown volume', UNKNOWN_VOLUME, 'NotFound'],
      ['to an unknown node', { nodeId: UNKNOWN }, 'NotFound'],
    ],
  ),
  of(ControllerUnpublishVolume, { when: called('ControllerUnpublishVolume'), usual: unpublish }, [
    ['without a volume', NO_VOLUME, 'InvalidArgument'],
    ['of an unknown volume', UNKNOWN_VOLUME, 'OK', 'NotFound'],
  ]),
  of(ValidateVolumeCapabilities, { when: always, usual: validate }, [
    ['without a volume', NO_VOLUME, 'InvalidArgument'],
    ['without capabilities', { volumeCapabilities: [] }, 'InvalidArgument'],
    ['of an unknown volume', UNKNOWN_VOLUME, 'NotFound'],
    ['of a volume as it was created', {}, 'OK'],
  ]),
  of(ControllerExpandVolume, { when: called('ControllerExpandVolume'), usual: expand }, [
    ['without a volume', NO_VOLUME, 'InvalidArgument'],
    ['without a size', { capacityRange: undefined }, 'InvalidArgument'],
    ['of an unknown volume', UNKNOWN_VOLUME, 'NotFound'],
    ['to the size that it has', {}, 'OK'],
    ['to 4 EiB', HUGE, 'OutOfRange', 'ResourceExhausted', 'OK'],
  ]),
  of(ControllerModifyVolume, { when: offers(ControllerRpc.MODIFY_VOLUME), usual: modify }, [
    ['without a volume', { ...NO_VOLUME, mutableParameters: {} }, 'InvalidArgument'],
    ['of an unknown volume', UNKNOWN_VOLUME, 'NotFound', 'InvalidArgument'],
    ['with an unknown parameter', { mutableParameters: UNKNOWN_ATTRIBUTES }, 'InvalidArgument'],
  ]),
  of(ControllerGetVolume, { when: offers(ControllerRpc.GET_VOLUME), usual: volumeOf }, [
    ['without a volume', NO_VOLUME, 'InvalidArgument'],
    ['of an unknown volume', UNKNOWN_VOLUME, 'NotFound'],
    ['of a volume that was created', {}, 'OK'],
  ]),
  of(ListVolumes, { when: offers(ControllerRpc.LIST_VOLUMES), usual: () => ({ maxEntries: 0, startingToken: '' }) }, [
    ['from an unknown token', { startingToken: UNKNOWN }, 'Aborted'],
  ]),
  of(DeleteVolume, { when: always, usual: (scope) => ({ ...volumeOf(scope), secrets }) }, [
    ['without a volume', NO_VOLUME, 'InvalidArgument'],
    ['of an unknown volume', UNKNOWN_VOLUME, 'OK'],
  ]),
  of(CreateSnapshot, { when: takesSnapshots, usual: ({ setting, volume }) => requestOf(setting, volume, 'strict') }, [
    ['without a name', { name: '' }, 'InvalidArgument'],
    ['without a volume', { sourceVolumeId: '' }, 'InvalidArgument'],
    ['of an unknown volume', { sourceVolumeId: UNKNOWN }, 'NotFound'],
  ]),
  of(DeleteSnapshot, { when: takesSnapshots, usual: () => ({ snapshotId: '', secrets }) }, [
    ['without a snapshot', {}, 'InvalidArgument'],
    ['of an unknown snapshot', { snapshotId: UNKNOWN }, 'OK'],
  ]),
]

function otherSize(setting: Setting, { capacityBytes }: Volume) {
  return setting.create('strict', sized(2n * (capacityBytes > GIB ? capacityBytes : GIB)))
}

const stage = ({ volume: { volumeId, volumeContext }, path }: RequestScope) => {
  return { volumeId, stagingTargetPath: path, volumeCapability: ONE_NODE, publishContext: {}, volumeContext, secrets }
}
const mount = (scope: RequestScope) => ({ ...stage(scope), targetPath: `${scope.path}-target`, readonly: false })
const stats = ({ volume: { volumeId }, path }: RequestScope) => ({ volumeId, volumePath: path, stagingTargetPath: '' })
const grow = (scope: RequestScope) => ({ ...stats(scope), capacityRange: undefined, ...NO_CAPABILITY, secrets })

export const NODE_QUESTIONS: readonly Rows[] = [
  of(NodeStageVolume, { when: onNodes(NodeRpc.STAGE_UNSTAGE_VOLUME), usual: stage }, [
    ['without a volume', NO_VOLUME, 'InvalidArgument'],
    ['without a path', { stagingTargetPath: '' }, 'InvalidArgument'],
    ['without a capability', NO_CAPABILITY, 'InvalidArgument'],
  ]),
  of(
    NodeUnstageVolume,
    {
      when: onNodes(NodeRpc.STAGE_UNSTAGE_VOLUME),
      usual: (scope) => ({ ...volumeOf(scope), stagingTargetPath: scope.path }),
    },
    [
      ['without a volume', NO_VOLUME, 'InvalidArgument'],
      ['without a path', { stagingTargetPath: '' }, 'InvalidArgument'],
    ],
  ),
  of(NodePublishVolume, { when: hasNodes, usual: mount }, [
    ['without a volume', NO_VOLUME, 'InvalidArgument'],
    ['without a path', { targetPath: '' }, 'InvalidArgument'],
    ['without a capability', NO_CAPABILITY, 'InvalidArgument'],
  ]),
  of(NodeUnpublishVolume, { when: hasNodes, usual: (scope) => ({ ...volumeOf(scope), targetPath: scope.path }) }, [
    ['without a volume', NO_VOLUME, 'InvalidArgument'],
    ['without a path', { targetPath: '' }, 'InvalidArgument'],
  ]),
  of(NodeGetVolumeStats, { when: onNodes(NodeRpc.GET_VOLUME_STATS), usual: stats }, [
    ['without a volume', NO_VOLUME, 'InvalidArgument'],
    ['without a path', { volumePath: '' }, 'InvalidArgument'],
    ['of an unknown volume', UNKNOWN_VOLUME, 'NotFound'],
    ['at a path where nothing is', {}, 'NotFound'],
  ]),
  of(NodeExpandVolume, { when: onNodes(NodeRpc.EXPAND_VOLUME), usual: grow }, [
    ['without a volume', NO_VOLUME, 'InvalidArgument'],
    ['without a path', { volumePath: '' }, 'InvalidArgument'],
    ['of an unknown volume', UNKNOWN_VOLUME, 'NotFound'],
  ]),
]

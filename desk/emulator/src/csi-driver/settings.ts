import type {
  ControllerServiceCapability_RPC_Type,
  NodeServiceCapability_RPC_Type,
  PluginCapability_Service_Type,
  PluginCapability_VolumeExpansion_Type,
} from '@csi-sidecars/csi-proto'

export type ControllerCapability = Exclude<keyof typeof ControllerServiceCapability_RPC_Type, 'UNKNOWN'>
export type NodeCapability = Exclude<keyof typeof NodeServiceCapability_RPC_Type, 'UNKNOWN'>
export type PluginService = Exclude<keyof typeof PluginCapability_Service_Type, 'UNKNOWN'>
export type VolumeExpansion = Exclude<keyof typeof PluginCapability_VolumeExpansion_Type, 'UNKNOWN'>

/** An amount of storage that is accessible from one topology. */
export interface StoragePool {
  /** The topology keys and values from which the storage is accessible. */
  readonly segments: Readonly<Record<string, string>>
  readonly bytes: bigint
}

/** The identity and the behaviour of a driver. Changes of some settings affect only clients that connect later. */
export interface DriverSettings {
  name: string
  version: string
  plugin: readonly PluginService[]
  expansion: VolumeExpansion | undefined
  controller: readonly ControllerCapability[]
  node: readonly NodeCapability[]
  /** The value of `ready` in the answer to Probe. */
  ready: boolean
  /** The node ID that the Node service reports. */
  nodeId: string
  /** The IDs of all nodes. Undefined if the driver accepts each ID. */
  nodes: readonly string[] | undefined
  maxVolumesPerNode: number
  /** The topology keys and values of the driver's node. Undefined if the driver reports no topology. */
  topology: Readonly<Record<string, string>> | undefined
  /** The reaction to a call for an unknown volume: refuse the call, or accept it as if the volume existed. */
  unknownVolumes: 'refuse' | 'adopt'
  /** True if the node must expand a volume, too, after the controller has expanded it. */
  nodeExpansion: boolean
  /** The storage of each topology. Undefined if all topologies share one pool that is practically unlimited. */
  pools: readonly StoragePool[] | undefined
  /** True if the GroupController service supports group snapshots. */
  groupSnapshots: boolean
  /** The time until a new snapshot is ready to use. With Infinity, it is not ready until this setting changes. */
  snapshotReadyAfterMs: number
  /** The names of the known mutable parameters. Undefined if every name is accepted. */
  mutableParameters: readonly string[] | undefined
  /** True if the node service creates and removes the target paths, as the spec requires. */
  makesTargets: boolean
}

export const DEFAULT_SETTINGS: DriverSettings = {
  name: 'csi.example.com',
  version: '1.0.0',
  plugin: ['CONTROLLER_SERVICE'],
  expansion: 'ONLINE',
  controller: [
    'CREATE_DELETE_VOLUME',
    'PUBLISH_UNPUBLISH_VOLUME',
    'LIST_VOLUMES',
    'GET_CAPACITY',
    'PUBLISH_READONLY',
    'EXPAND_VOLUME',
    'LIST_VOLUMES_PUBLISHED_NODES',
    'GET_VOLUME',
    'SINGLE_NODE_MULTI_WRITER',
    'MODIFY_VOLUME',
  ],
  node: ['STAGE_UNSTAGE_VOLUME', 'GET_VOLUME_STATS', 'EXPAND_VOLUME', 'SINGLE_NODE_MULTI_WRITER'],
  ready: true,
  nodeId: 'node-1',
  nodes: undefined,
  maxVolumesPerNode: 0,
  topology: undefined,
  unknownVolumes: 'refuse',
  nodeExpansion: true,
  pools: undefined,
  groupSnapshots: true,
  snapshotReadyAfterMs: 0,
  mutableParameters: undefined,
  makesTargets: false,
}

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

/** Storage that is accessible from one place. */
export interface StoragePool {
  /** The topology keys and values of the place. */
  readonly segments: Readonly<Record<string, string>>
  readonly bytes: bigint
}

/** How a driver presents itself and behaves. Everything may be changed while it runs; clients ask again when they reconnect. */
export interface DriverSettings {
  name: string
  version: string
  plugin: readonly PluginService[]
  expansion: VolumeExpansion | undefined
  controller: readonly ControllerCapability[]
  node: readonly NodeCapability[]
  /** The answer of Probe. */
  ready: boolean
  /** The node of its node service. */
  nodeId: string
  /** The nodes that exist; undefined: every name is one. */
  nodes: readonly string[] | undefined
  maxVolumesPerNode: number
  /** The topology keys and values of the driver's node. Undefined if the driver reports no topology. */
  topology: Readonly<Record<string, string>> | undefined
  /** Unknown volumes in calls: refused, or accepted as if they existed. */
  unknownVolumes: 'refuse' | 'adopt'
  /** True if expansion leaves work for the node. */
  nodeExpansion: boolean
  /** The pools of storage by place. Undefined: every place has room for as much as a driver can have. */
  pools: readonly StoragePool[] | undefined
  /** True if the driver takes snapshots of several volumes at once, if it has the group controller service. */
  groupSnapshots: boolean
  /** How long a new snapshot is not ready to use; Infinity: until the setting changes. */
  snapshotReadyAfterMs: number
  /** The mutable parameters that exist; undefined: every name is one. */
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

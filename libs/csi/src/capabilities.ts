import {
  ControllerGetCapabilities,
  type ControllerServiceCapability_RPC_Type as ControllerRpc,
  GetPluginCapabilities,
  GetPluginInfo,
  GroupControllerGetCapabilities,
  type GroupControllerServiceCapability_RPC_Type as GroupControllerRpc,
  NodeGetCapabilities,
  type NodeServiceCapability_RPC_Type as NodeRpc,
  PluginCapability_Service_Type as PluginService,
  type PluginCapability_VolumeExpansion_Type as VolumeExpansion,
} from '@csi-sidecars/csi-proto'
import type { Caller, CallOptions } from './connection.ts'

/** The services and kinds of expansion that GetPluginCapabilities reports. */
export interface PluginCapabilities {
  readonly services: ReadonlySet<PluginService>
  readonly volumeExpansion: ReadonlySet<VolumeExpansion>
}

/** The capabilities that the driver has last reported. Capabilities of other CSI versions are kept as numbers. */
export interface DriverCapabilities {
  readonly plugin: PluginCapabilities
  /** True if the driver has CONTROLLER_SERVICE. Otherwise the process does not request `controller`, which is empty. */
  readonly controllerService: boolean
  readonly controller: ReadonlySet<ControllerRpc>
  /** Undefined if the capabilities of the node were not requested. */
  readonly node?: ReadonlySet<NodeRpc>
}

/** Returns the name that the driver reports. Throws if the name is empty. */
export async function getDriverName(driver: Caller, options: CallOptions): Promise<string> {
  const { name } = await driver.call(GetPluginInfo, {}, options)
  if (name === '') throw new Error('driver name is empty')
  return name
}

export async function getPluginCapabilities(driver: Caller, options: CallOptions): Promise<PluginCapabilities> {
  const { capabilities } = await driver.call(GetPluginCapabilities, {}, options)
  const services = new Set<PluginService>()
  const volumeExpansion = new Set<VolumeExpansion>()
  for (const { type } of capabilities) {
    if (type?.$case === 'service') services.add(type.value.type)
    if (type?.$case === 'volumeExpansion') volumeExpansion.add(type.value.type)
  }
  return { services, volumeExpansion }
}

export async function getControllerCapabilities(
  driver: Caller,
  options: CallOptions,
): Promise<ReadonlySet<ControllerRpc>> {
  const { capabilities } = await driver.call(ControllerGetCapabilities, {}, options)
  return new Set(capabilities.flatMap(({ type }) => (type === undefined ? [] : [type.value.type])))
}

export async function getNodeCapabilities(driver: Caller, options: CallOptions): Promise<ReadonlySet<NodeRpc>> {
  const { capabilities } = await driver.call(NodeGetCapabilities, {}, options)
  return new Set(capabilities.flatMap(({ type }) => (type === undefined ? [] : [type.value.type])))
}

export async function getGroupControllerCapabilities(
  driver: Caller,
  options: CallOptions,
): Promise<ReadonlySet<GroupControllerRpc>> {
  const { capabilities } = await driver.call(GroupControllerGetCapabilities, {}, options)
  return new Set(capabilities.flatMap(({ type }) => (type === undefined ? [] : [type.value.type])))
}

/** Combines the capabilities that the driver has reported. */
export function driverCapabilities(
  plugin: PluginCapabilities,
  controller: ReadonlySet<ControllerRpc> = new Set(),
  node?: ReadonlySet<NodeRpc>,
): DriverCapabilities {
  const controllerService = plugin.services.has(PluginService.CONTROLLER_SERVICE)
  return { plugin, controllerService, controller, ...(node !== undefined && { node }) }
}

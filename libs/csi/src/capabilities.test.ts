import {
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  NodeServiceCapability_RPC_Type as NodeRpc,
  PluginCapability_Service_Type as PluginService,
  PluginCapability_VolumeExpansion_Type as VolumeExpansion,
} from '@csi-sidecars/csi-proto'
import { expect, test } from '@jest/globals'
import {
  driverCapabilities,
  getControllerCapabilities,
  getDriverName,
  getNodeCapabilities,
  getPluginCapabilities,
} from './capabilities.ts'
import { FakeConnection } from './testing/fake-connection.ts'

const options = { timeoutMs: 1_000 }
const rpc = (type: number) => ({ type: { $case: 'rpc', value: { type } } })
const NOTHING = { type: undefined }

const info = (name: string) => new FakeConnection({ GetPluginInfo: () => ({ name, vendorVersion: '', manifest: {} }) })

test('`getDriverName` returns the name that the driver reports', async () => {
  expect(await getDriverName(info('csi.example.com'), options)).toBe('csi.example.com')
})

test('`getDriverName` refuses an empty name from the driver', async () => {
  await expect(getDriverName(info(''), options)).rejects.toEqual(new Error('driver name is empty'))
})

test('`getPluginCapabilities` returns the services and the volume expansion modes of a driver as two sets', async () => {
  const capabilities = [
    { type: { $case: 'service', value: { type: PluginService.CONTROLLER_SERVICE } } },
    { type: { $case: 'volumeExpansion', value: { type: VolumeExpansion.ONLINE } } },
    NOTHING,
  ]
  const connection = new FakeConnection({ GetPluginCapabilities: () => ({ capabilities }) })
  const plugin = await getPluginCapabilities(connection, options)
  expect(plugin.services).toEqual(new Set([PluginService.CONTROLLER_SERVICE]))
  expect(plugin.volumeExpansion).toEqual(new Set([VolumeExpansion.ONLINE]))
  expect(driverCapabilities(plugin)).toEqual({ plugin, controllerService: true, controller: new Set() })
})

test('capabilities that this version of CSI does not define are kept as their numbers', async () => {
  const capabilities = [rpc(ControllerRpc.EXPAND_VOLUME), NOTHING, rpc(11), rpc(99)]
  const connection = new FakeConnection({ ControllerGetCapabilities: () => ({ capabilities }) })
  const controller = await getControllerCapabilities(connection, options)
  expect(controller).toEqual(new Set([ControllerRpc.EXPAND_VOLUME, 11, 99]))
})

test('the node capabilities of a driver are the RPCs that its node service supports', async () => {
  const capabilities = [rpc(NodeRpc.EXPAND_VOLUME), NOTHING]
  const connection = new FakeConnection({ NodeGetCapabilities: () => ({ capabilities }) })
  const node = await getNodeCapabilities(connection, options)
  expect(node).toEqual(new Set([NodeRpc.EXPAND_VOLUME]))
  const plugin = { services: new Set<never>(), volumeExpansion: new Set<never>() }
  expect(driverCapabilities(plugin, new Set(), node)).toMatchObject({ controllerService: false, node })
})

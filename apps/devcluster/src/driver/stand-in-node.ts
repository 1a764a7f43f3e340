import type { Driver } from '@csi-sidecars/csi'
import { NodeServiceCapability_RPC_Type as NodeRpc, NodeService } from '@csi-sidecars/csi-proto'
import { wrappedDriver } from './wrapped.ts'

const NODE_PATHS: ReadonlySet<string> = new Set(Object.values(NodeService).map(({ path }) => path))

/**
 * A driver whose node service is played: every call to it ends well, and none reaches the driver. Nothing is mounted,
 * so nobody need be root, and the driver need not have such a service.
 */
export function withStandInNode(driver: Driver): Driver {
  const call: Driver['call'] = async (method, request, options) =>
    NODE_PATHS.has(method.path)
      ? method.responseDeserialize(Buffer.alloc(0))
      : await driver.call(method, request, options)
  const node = new Set([NodeRpc.EXPAND_VOLUME])
  return wrappedDriver(driver, { call, capabilities: () => ({ ...driver.capabilities, node }) })
}

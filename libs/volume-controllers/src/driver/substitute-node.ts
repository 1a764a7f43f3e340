import type { Driver } from '@csi-sidecars/csi'
import { NodeServiceCapability_RPC_Type as NodeRpc, NodeService } from '@csi-sidecars/csi-proto'

const NODE_PATHS: ReadonlySet<string> = new Set(Object.values(NodeService).map(({ path }) => path))

/**
 * A driver whose node service is emulated: every call to it succeeds, and none reaches the driver. Nothing is mounted,
 * so root is not needed, and the driver need not have such a service.
 */
export function withSubstituteNode(driver: Driver): Driver {
  const call: Driver['call'] = async (method, request, options) =>
    NODE_PATHS.has(method.path)
      ? method.responseDeserialize(Buffer.alloc(0))
      : await driver.call(method, request, options)
  const node = new Set([NodeRpc.EXPAND_VOLUME])
  return {
    get name() {
      return driver.name
    },
    get capabilities() {
      return { ...driver.capabilities, node }
    },
    get state() {
      return driver.state
    },
    get lostForMs() {
      return driver.lostForMs
    },
    failure: driver.failure,
    call,
    subscribe: (listener) => driver.subscribe(listener),
    close: () => driver.close(),
  }
}

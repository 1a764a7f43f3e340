import type { Driver } from '@csi-sidecars/csi'
import { NodeServiceCapability_RPC_Type as NodeRpc, NodeService } from '@csi-sidecars/csi-proto'

const NODE_PATHS: ReadonlySet<string> = new Set(Object.values(NodeService).map(({ path }) => path))

/**
 * Returns a driver with an emulated node service: all node calls succeed and never reach the driver. Nothing is
 * mounted, so the process needs no root rights and the driver needs no node service.
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

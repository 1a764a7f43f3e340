import { type Clock, messageOf } from '@csi-sidecars/base'
import {
  ConnectError,
  type Connection,
  connect,
  createDriver,
  type Driver,
  type DriverIdentity,
  driverCapabilities,
  getControllerCapabilities,
  getDriverName,
  getNodeCapabilities,
  getPluginCapabilities,
  probe,
} from '@csi-sidecars/csi'
import {
  NodeGetInfo,
  type NodeGetInfoResponse,
  type NodeServiceCapability_RPC_Type as NodeRpc,
  PluginCapability_Service_Type as PluginService,
} from '@csi-sidecars/csi-proto'
import type { Logger } from '@csi-sidecars/telemetry'

export interface OpenDriverOptions {
  /** `unix:///path`. */
  readonly address: string
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
  /** False: it is not asked for its node service, which it may not have. */
  readonly nodeService?: boolean
}

/** For everything that is asked at the start. */
const HANDSHAKE_MS = 10_000
/** For a call about a volume; as kubelet's. */
export const CALL_MS = 120_000

/** Connects, waits until the driver is ready, and asks who it is and what its controller and its node can do. */
export async function openDriver(options: OpenDriverOptions): Promise<Driver> {
  const { clock, log, signal, address } = options
  const connection = await connect(options).catch((cause: unknown) => {
    signal.throwIfAborted()
    const why = cause instanceof ConnectError ? cause.pairs.lastError : messageOf(cause)
    throw new Error(`no CSI driver at ${address}: ${why}`, { cause })
  })
  const identity = await identify(connection, options, signal)
  return createDriver({
    clock,
    log,
    connection,
    identity,
    reconnect: (closed) => connect({ ...options, timeoutMs: Number.POSITIVE_INFINITY, signal: closed }),
    identify: (again, closed) => identify(again, options, closed),
  })
}

async function identify(
  connection: Connection,
  { clock, log, address, nodeService = true }: OpenDriverOptions,
  signal: AbortSignal,
): Promise<DriverIdentity> {
  const limits = { timeoutMs: HANDSHAKE_MS, signal }
  const asking = async <T>(call: string, answer: Promise<T>): Promise<T> => {
    try {
      return await answer
    } catch (cause) {
      signal.throwIfAborted()
      throw new Error(`the CSI driver at ${address} does not answer ${call}: ${messageOf(cause)}`, { cause })
    }
  }
  await asking('Probe', probe(connection, { timeoutMs: HANDSHAKE_MS, clock, log, signal }))
  const name = await asking('GetPluginInfo', getDriverName(connection, limits))
  const plugin = await asking('GetPluginCapabilities', getPluginCapabilities(connection, limits))
  const hasController = plugin.services.has(PluginService.CONTROLLER_SERVICE)
  const controller = hasController
    ? await asking('ControllerGetCapabilities', getControllerCapabilities(connection, limits))
    : new Set<never>()
  const node = nodeService
    ? await asking('NodeGetCapabilities', getNodeCapabilities(connection, limits))
    : new Set<never>()
  return { name, capabilities: driverCapabilities(plugin, controller, node) }
}

/** What the driver calls the node that its node service runs on. */
export function nodeInfo(driver: Driver, signal: AbortSignal): Promise<NodeGetInfoResponse> {
  return driver.call(NodeGetInfo, {}, { timeoutMs: HANDSHAKE_MS, signal })
}

export function nodeCan(driver: Driver, what: NodeRpc): boolean {
  return driver.capabilities.node?.has(what) === true
}

import { type Clock, messageOf } from '@csi-sidecars/base'
import {
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
    throw new Error(`no CSI driver at ${address}: ${messageOf(cause)}`, { cause })
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
  { clock, log }: OpenDriverOptions,
  signal: AbortSignal,
): Promise<DriverIdentity> {
  const limits = { timeoutMs: HANDSHAKE_MS, signal }
  await probe(connection, { timeoutMs: HANDSHAKE_MS, clock, log, signal })
  const name = await getDriverName(connection, limits)
  const plugin = await getPluginCapabilities(connection, limits)
  const hasController = plugin.services.has(PluginService.CONTROLLER_SERVICE)
  const controller = hasController ? await getControllerCapabilities(connection, limits) : new Set<never>()
  const node = await getNodeCapabilities(connection, limits)
  return { name, capabilities: driverCapabilities(plugin, controller, node) }
}

/** What the driver calls the node that its node service runs on. */
export function nodeInfo(driver: Driver, signal: AbortSignal): Promise<NodeGetInfoResponse> {
  return driver.call(NodeGetInfo, {}, { timeoutMs: HANDSHAKE_MS, signal })
}

export function nodeCan(driver: Driver, what: NodeRpc): boolean {
  return driver.capabilities.node?.has(what) === true
}

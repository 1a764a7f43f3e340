import { type Clock, causesOf, messageOf } from '@csi-sidecars/base'
import {
  CODES,
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
  RpcError,
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
  /** Those that are asked for; without it all. A socket may lack one, whatever the driver says of itself. */
  readonly services?: 'all' | 'controller' | 'node'
}

/** For everything that is asked at the start. */
const HANDSHAKE_MS = 10_000
/** How long a driver may die during the handshake: one that is killed every few seconds answers between two kills. */
const DEATHS_MS = 30_000
const PAUSE_MS = 200
/** For a call about a volume; as kubelet's. */
export const CALL_MS = 120_000

/** Connects, waits until the driver is ready, and asks who it is and what its controller and its node can do. */
export async function openDriver(options: OpenDriverOptions): Promise<Driver> {
  const { clock, log } = options
  const { connection, identity } = await meet(options)
  return createDriver({
    clock,
    log,
    connection,
    identity,
    reconnect: (closed) => connect({ ...options, timeoutMs: Number.POSITIVE_INFINITY, signal: closed }),
    identify: (again, closed) => identify(again, options, closed),
  })
}

/** A driver that dies in the middle of it is met again when it is back. */
async function meet(options: OpenDriverOptions): Promise<{ connection: Connection; identity: DriverIdentity }> {
  const { clock, signal, address } = options
  const until = clock.monotonic() + DEATHS_MS
  for (;;) {
    const connection = await connect(options).catch((cause: unknown) => {
      signal.throwIfAborted()
      const why = cause instanceof ConnectError ? cause.pairs.lastError : messageOf(cause)
      throw new Error(`no CSI driver at ${address}: ${why}`, { cause })
    })
    try {
      return { connection, identity: await identify(connection, options, signal) }
    } catch (error) {
      connection.close()
      if (!isLoss(error) || clock.monotonic() > until) throw error
      await clock.sleep(PAUSE_MS, signal)
    }
  }
}

function isLoss(error: unknown): boolean {
  return [...causesOf(error)].some((cause) => cause instanceof RpcError && cause.code === CODES.Unavailable)
}

async function identify(
  connection: Connection,
  { clock, log, address, services = 'all' }: OpenDriverOptions,
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
  const hasController = services !== 'node' && plugin.services.has(PluginService.CONTROLLER_SERVICE)
  const controller = hasController
    ? await asking('ControllerGetCapabilities', getControllerCapabilities(connection, limits))
    : new Set<never>()
  const node =
    services === 'controller'
      ? new Set<never>()
      : await asking('NodeGetCapabilities', getNodeCapabilities(connection, limits))
  return { name, capabilities: driverCapabilities(plugin, controller, node) }
}

/** What the driver calls the node that its node service runs on. */
export function nodeInfo(driver: Driver, signal: AbortSignal): Promise<NodeGetInfoResponse> {
  return driver.call(NodeGetInfo, {}, { timeoutMs: HANDSHAKE_MS, signal })
}

export function nodeCan(driver: Driver, what: NodeRpc): boolean {
  return driver.capabilities.node?.has(what) === true
}

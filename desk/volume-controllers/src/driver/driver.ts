import { type Clock, errorChain, messageOf } from '@csi-sidecars/base'
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
  NodeServiceCapability_RPC_Type as NodeRpc,
  NodeService,
  PluginCapability_Service_Type as PluginService,
} from '@csi-sidecars/csi-proto'
import type { Logger } from '@csi-sidecars/telemetry'

/** The connection to the driver, and the services to ask. */
export interface OpenDriverOptions {
  /** The address of the socket, such as `unix:///path`. */
  readonly address: string
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
  /** The services that the socket has, by default all. A socket may lack a service that the driver advertises. */
  readonly services?: 'all' | 'controller' | 'node'
}

/** The time-out of each of the first calls, which identify the driver. */
const HANDSHAKE_MS = 10_000
/** The time for which the first calls are repeated if the driver crashes and starts again. */
const DEATHS_MS = 30_000
const PAUSE_MS = 200
/** The time-out of a call about a volume, as in kubelet. */
export const CALL_MS = 120_000

/** Connects, waits until the driver is ready, and reads its name and its capabilities. */
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

/** Connects to the driver and reads its identity. Repeats both if the driver dies before it has answered all calls. */
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
  return [...errorChain(error)].some((cause) => cause instanceof RpcError && cause.code === CODES.Unavailable)
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

/** Returns the answer of the driver to `NodeGetInfo`, which contains the ID of its node. */
export function nodeInfo(driver: Driver, signal: AbortSignal): Promise<NodeGetInfoResponse> {
  return driver.call(NodeGetInfo, {}, { timeoutMs: HANDSHAKE_MS, signal })
}

export function nodeCan(driver: Driver, capability: NodeRpc): boolean {
  return driver.capabilities.node?.has(capability) === true
}

const NODE_PATHS: ReadonlySet<string> = new Set(Object.values(NodeService).map(({ path }) => path))

/** Returns a driver whose node calls succeed without a call to the real driver, so that nothing is mounted. */
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

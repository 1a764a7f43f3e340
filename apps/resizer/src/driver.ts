import { messageOf } from '@csi-sidecars/base'
import {
  type Connection,
  connect,
  connectMigrated,
  createDriver,
  type Driver,
  type DriverCapabilities,
  driverCapabilities,
  getControllerCapabilities,
  getDriverName,
  getNodeCapabilities,
  getPluginCapabilities,
  OperationMetrics,
  probe,
} from '@csi-sidecars/csi'
import {
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  NodeServiceCapability_RPC_Type as NodeRpc,
  PluginCapability_Service_Type as PluginService,
} from '@csi-sidecars/csi-proto'
import { isMigratedCSIDriverByName } from '@csi-sidecars/csi-translation'
import { failing } from '@csi-sidecars/sidecar'
import type { Logger } from '@csi-sidecars/telemetry'
import type { ResizerBoot } from './flags.ts'

/** The driver as far as the start has come to know it. */
export interface Greeted {
  readonly name: string
  readonly connection: Connection
  readonly operations: OperationMetrics
}

/** Connects, waits until the driver is ready and asks its name; connects anew to one with an in-tree ancestor. */
export async function greetDriver(boot: ResizerBoot): Promise<Greeted> {
  const { signal, flags } = boot
  const operations = new OperationMetrics(boot.metrics)
  const options = connectOptions(boot, operations)
  const first = await ready(boot, () => connect(options)).catch(failing('Failed to create CSI client'))
  const name = await getDriverName(first, { timeoutMs: flags.values.timeout, signal }).catch(
    failing('Get driver name failed'),
  )
  if (!isMigratedCSIDriverByName(name)) return { name, connection: first, operations }
  const again = (): Promise<Connection> => connectMigrated(first, { ...options, operations, driverName: name })
  const connection = await ready(boot, again).catch(failing('Failed to create MigratedCSI client'))
  return { name, connection, operations }
}

async function ready(boot: ResizerBoot, open: () => Promise<Connection>): Promise<Connection> {
  const { clock, log, signal, flags } = boot
  const connection = await open().catch(during('failed to connect to CSI driver'))
  const limits = { timeoutMs: flags.values.timeout, clock, log, signal }
  await probe(connection, limits).catch(during('failed probing CSI driver'))
  return connection
}

interface Limits {
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** Of the calls of either side, and of the questions whether the driver has them. */
export interface CallLimits {
  readonly resizeTimeoutMs: number
  readonly modifyTimeoutMs: number
}

/** Reads what the driver can do and watches over it from here on. */
export async function openDriver(
  boot: ResizerBoot,
  { name, connection, operations }: Greeted,
  { log, resizeTimeoutMs, modifyTimeoutMs }: CallLimits & { readonly log: Logger },
): Promise<Driver> {
  const { clock, signal, flags } = boot
  const capabilities = await capabilitiesAtStart(connection, { resizeTimeoutMs, modifyTimeoutMs, signal })
  // For a plain driver everything up to here is counted under no name.
  if (!isMigratedCSIDriverByName(name)) operations.setDriverName(name)
  return createDriver({
    clock,
    log,
    connection,
    identity: { name, capabilities },
    decisive: {
      plugin: [PluginService.CONTROLLER_SERVICE],
      controller: [ControllerRpc.EXPAND_VOLUME, ControllerRpc.MODIFY_VOLUME],
      node: [NodeRpc.EXPAND_VOLUME],
    },
    reconnect: (closed) =>
      connect({ ...connectOptions(boot, operations), timeoutMs: Number.POSITIVE_INFINITY, signal: closed }),
    identify: async (again, closed) => {
      const timeoutMs = flags.values.timeout
      await probe(again, { timeoutMs, clock, log, signal: closed })
      const current = await getDriverName(again, { timeoutMs, signal: closed })
      return {
        name: current,
        capabilities: await capabilitiesOf(again, { timeoutMs: resizeTimeoutMs, signal: closed }),
      }
    },
  })
}

/**
 * Both sides ask for themselves, each with its own limit: whoever watches the calls of a start or greps for the step that
 * failed finds them as they have always been. What was read last counts.
 */
async function capabilitiesAtStart(
  connection: Connection,
  { resizeTimeoutMs, modifyTimeoutMs, signal }: CallLimits & Pick<Limits, 'signal'>,
): Promise<DriverCapabilities> {
  const limits = { timeoutMs: resizeTimeoutMs, signal }
  const first = await resizeCapabilities(connection, limits).catch(failing('Failed to create CSI resizer'))
  const controller = await getControllerCapabilities(connection, { timeoutMs: modifyTimeoutMs, signal })
    .catch(during('failed to check if plugin supports controller modify: error getting controller capabilities'))
    .catch(failing('Failed to create CSI modifier'))
  return { ...first, controller }
}

async function resizeCapabilities(connection: Connection, limits: Limits): Promise<DriverCapabilities> {
  const capabilities = await capabilitiesOf(connection, limits)
  if (!capabilities.controllerService) throw new Error('CSI driver does not support controller service')
  if (!capabilities.controller.has(ControllerRpc.EXPAND_VOLUME)) return capabilities
  const what = 'failed to check if plugin supports the SINGLE_NODE_MULTI_WRITER capability'
  const again = getControllerCapabilities(connection, limits)
  return {
    ...capabilities,
    controller: await again.catch(during(`${what}: error getting controller capabilities`)),
  }
}

/** The node is asked only where the controller cannot expand. */
async function capabilitiesOf(connection: Connection, limits: Limits): Promise<DriverCapabilities> {
  const plugin = await getPluginCapabilities(connection, limits).catch(
    during('failed to check if plugin supports controller service: error getting controller capabilities'),
  )
  if (!plugin.services.has(PluginService.CONTROLLER_SERVICE)) return driverCapabilities(plugin)
  const controller = await getControllerCapabilities(connection, limits).catch(
    during('failed to check if plugin supports controller resize: error getting controller capabilities'),
  )
  if (controller.has(ControllerRpc.EXPAND_VOLUME)) return driverCapabilities(plugin, controller)
  const node = await getNodeCapabilities(connection, limits).catch(
    during('failed to check if plugin supports node resize: error getting node capabilities'),
  )
  return driverCapabilities(plugin, controller, node)
}

function during(what: string): (cause: unknown) => never {
  return (cause) => {
    throw new Error(`${what}: ${messageOf(cause)}`, { cause })
  }
}

function connectOptions(
  { clock, log, signal, flags }: ResizerBoot,
  operations: OperationMetrics,
): Parameters<typeof connect>[0] {
  return { address: flags.values['csi-address'], clock, log, operations, signal }
}

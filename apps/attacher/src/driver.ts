import type { Clock } from '@csi-sidecars/base'
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
  getPluginCapabilities,
  OperationMetrics,
  type PluginCapabilities,
  probe,
} from '@csi-sidecars/csi'
import {
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  PluginCapability_Service_Type as PluginService,
} from '@csi-sidecars/csi-proto'
import { isMigratedCSIDriverByName } from '@csi-sidecars/csi-translation'
import { failing } from '@csi-sidecars/sidecar'
import type { Logger } from '@csi-sidecars/telemetry'
import type { AttacherBoot } from './flags.ts'

/** For the name, and for both capability calls together. */
const HANDSHAKE_MS = 1000

/** The driver as far as the start has come to know it. */
export interface Greeted {
  readonly name: string
  readonly connection: Connection
  readonly operations: OperationMetrics
}

/** Connects, waits until the driver is ready and asks its name; a second time for one with an in-tree ancestor. */
export async function greetDriver(boot: AttacherBoot): Promise<Greeted> {
  const { clock, log, signal, flags } = boot
  const csiAddress = flags.values['csi-address']
  const operations = new OperationMetrics(boot.metrics)
  const options = connectOptions(boot, operations)
  const timeoutMs = flags.values.timeout
  const ready = (connection: Connection, pairs = {}): Promise<void> =>
    probe(connection, { timeoutMs, clock, log, signal }).catch(failing('Failed to probe the CSI driver', pairs))
  const first = await connect(options).catch(failing('Failed to connect to the CSI driver', { csiAddress }))
  await ready(first)
  const name = await getDriverName(first, { timeoutMs: HANDSHAKE_MS, signal }).catch(
    failing('Failed to get the CSI driver name'),
  )
  if (!isMigratedCSIDriverByName(name)) {
    operations.setDriverName(name)
    return { name, connection: first, operations }
  }
  const migrated = true
  const connection = await connectMigrated(first, { ...options, operations, driverName: name }).catch(
    failing('Failed to connect to the CSI driver', { driver: name, csiAddress, migrated }),
  )
  await ready(connection, { driver: name, migrated })
  return { name, connection, operations }
}

/** Reads what the driver can do and watches over it from here on. */
export async function openDriver(
  boot: AttacherBoot,
  { name, connection, operations }: Greeted,
  log: Logger,
): Promise<Driver> {
  const { clock, signal, flags } = boot
  const limits = new Budget(clock, HANDSHAKE_MS)
  const pairs = { driver: name }
  const plugin = await getPluginCapabilities(connection, { timeoutMs: limits.leftMs, signal, log }).catch(
    failing('Failed to check if the CSI Driver supports the CONTROLLER_SERVICE', pairs),
  )
  const capabilities = await withController(connection, plugin, { timeoutMs: limits.leftMs, signal, log }).catch(
    failing('Failed to controller capability check', pairs),
  )
  return createDriver({
    clock,
    log,
    connection,
    identity: { name, capabilities },
    decisive: {
      plugin: [PluginService.CONTROLLER_SERVICE],
      controller: [
        ControllerRpc.PUBLISH_UNPUBLISH_VOLUME,
        ControllerRpc.LIST_VOLUMES,
        ControllerRpc.LIST_VOLUMES_PUBLISHED_NODES,
      ],
    },
    reconnect: (closed) =>
      connect({ ...connectOptions(boot, operations), timeoutMs: Number.POSITIVE_INFINITY, signal: closed }),
    identify: async (again, closed) => {
      const timeoutMs = flags.values.timeout
      await probe(again, { timeoutMs, clock, log, signal: closed })
      const options = { timeoutMs: HANDSHAKE_MS, signal: closed }
      const current = await getDriverName(again, options)
      return {
        name: current,
        capabilities: await withController(again, await getPluginCapabilities(again, options), options),
      }
    },
  })
}

/** Time that several calls share. */
class Budget {
  readonly #clock: Clock
  readonly #end: number

  constructor(clock: Clock, ms: number) {
    this.#clock = clock
    this.#end = clock.monotonic() + ms
  }

  get leftMs(): number {
    return Math.max(0, this.#end - this.#clock.monotonic())
  }
}

/** A plugin without a controller service is not asked for what its controller can do. */
async function withController(
  connection: Connection,
  plugin: PluginCapabilities,
  options: { timeoutMs: number; signal: AbortSignal; log?: Logger },
): Promise<DriverCapabilities> {
  if (!plugin.services.has(PluginService.CONTROLLER_SERVICE)) return driverCapabilities(plugin)
  return driverCapabilities(plugin, await getControllerCapabilities(connection, options))
}

function connectOptions(
  { clock, log, signal, flags }: AttacherBoot,
  operations: OperationMetrics,
): Parameters<typeof connect>[0] {
  const { values } = flags
  return { address: values['csi-address'], clock, log, operations, signal, maxLogLength: values['max-grpc-log-length'] }
}

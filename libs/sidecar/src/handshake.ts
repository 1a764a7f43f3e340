import type { Clock } from '@csi-sidecars/base'
import {
  type Connection,
  type ConnectOptions,
  connect,
  connectMigrated,
  createDriver,
  type Decisive,
  type Driver,
  getDriverName,
  OperationMetrics,
  probe,
} from '@csi-sidecars/csi'
import { isMigratedCSIDriverByName } from '@csi-sidecars/csi-translation'
import type { Logger, Metrics, Tracer } from '@csi-sidecars/telemetry'
import { askAgain, askAtStart, type Question, type StepFailure, stepFailed } from './capability-questions.ts'

/** What a handshake needs of a start. */
export interface DriverBoot {
  /** The driver's socket. */
  readonly address: string
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  readonly signal: AbortSignal
  readonly tracer?: Tracer | undefined
}

/** A driver with an in-tree ancestor is connected to once more, now that its name is known. */
export interface ConnectionFailures {
  readonly connect: StepFailure
  readonly probe: StepFailure
}

/** How a sidecar gets to know its driver: the steps are the same for all, limits and texts are its own. */
export interface HandshakeTable {
  readonly limits: {
    /** For each Probe. */
    readonly probeMs: number
    readonly nameMs: number
    /** For all questions of the start together. Left out: each has its own only. */
    readonly questionsMs?: number
  }
  readonly failures: {
    readonly first: ConnectionFailures
    readonly migrated: (driverName: string) => ConnectionFailures
    readonly name: StepFailure
  }
  /** What is asked about the driver's capabilities, in this order. */
  readonly questions: (driverName: string) => readonly Question[]
  /** What the choices made at start rest upon. */
  readonly decisive: Decisive
  /** From where on calls count for the driver in metrics; before that they count under no name. */
  readonly namedFrom: 'name' | 'capabilities'
  /** Longest response of the driver in a log line. Left out: no limit. */
  readonly maxLogLength?: number
}

/** The driver as far as the start has come to know it. */
export interface IdentifiedDriver {
  readonly name: string
  readonly connection: Connection
  readonly operations: OperationMetrics
}

/** Connects, waits until the driver is ready and asks its name; connects again to one with an in-tree ancestor. */
export async function identifyDriver(boot: DriverBoot, table: HandshakeTable): Promise<IdentifiedDriver> {
  const { failures, limits, namedFrom } = table
  const operations = new OperationMetrics(boot.metrics)
  const options = connectOptions(boot, table, operations)
  const { probeMs } = limits
  const first = await ready(boot, { probeMs, failures: failures.first, open: () => connect(options) })
  const name = await getDriverName(first, { timeoutMs: limits.nameMs, signal: boot.signal }).catch(
    stepFailed(failures.name),
  )
  if (!isMigratedCSIDriverByName(name)) {
    if (namedFrom === 'name') operations.setDriverName(name)
    return { name, connection: first, operations }
  }
  const again = (): Promise<Connection> => connectMigrated(first, { ...options, operations, driverName: name })
  const connection = await ready(boot, { probeMs, failures: failures.migrated(name), open: again })
  return { name, connection, operations }
}

interface ConnectionSteps {
  readonly probeMs: number
  readonly failures: ConnectionFailures
  readonly open: () => Promise<Connection>
}

async function ready(
  { clock, log, signal }: DriverBoot,
  { probeMs, failures, open }: ConnectionSteps,
): Promise<Connection> {
  const connection = await open().catch(stepFailed(failures.connect))
  await probe(connection, { timeoutMs: probeMs, clock, log, signal }).catch(stepFailed(failures.probe))
  return connection
}

/** Reads what the driver can do and watches over it from here on. */
export async function openDriver(
  boot: DriverBoot,
  table: HandshakeTable,
  { name, connection, operations }: IdentifiedDriver,
): Promise<Driver> {
  const { clock, signal, log } = boot
  const { limits, decisive } = table
  const questions = table.questions(name)
  const capabilities = await askAtStart(connection, questions, { clock, signal, log, togetherMs: limits.questionsMs })
  if (!isMigratedCSIDriverByName(name)) operations.setDriverName(name)
  return createDriver({
    clock,
    log,
    connection,
    identity: { name, capabilities },
    decisive,
    reconnect: (closed) =>
      connect({ ...connectOptions(boot, table, operations), timeoutMs: Number.POSITIVE_INFINITY, signal: closed }),
    identify: async (again, closed) => {
      await probe(again, { timeoutMs: limits.probeMs, clock, log, signal: closed })
      const current = await getDriverName(again, { timeoutMs: limits.nameMs, signal: closed })
      return { name: current, capabilities: await askAgain(again, questions, closed) }
    },
  })
}

function connectOptions(
  { address, clock, log, signal, tracer }: DriverBoot,
  { maxLogLength }: HandshakeTable,
  operations: OperationMetrics,
): ConnectOptions {
  return { address, clock, log, operations, signal, tracer, ...(maxLogLength !== undefined && { maxLogLength }) }
}

import {
  type Connection,
  type ConnectOptions,
  connect,
  connectMigrated,
  createDriver,
  type Driver,
  getDriverName,
  OperationMetrics,
  probe,
  probeOnce,
} from '@csi-sidecars/csi'
import { isMigratedCSIDriverByName } from '@csi-sidecars/csi-translation'
import type { StartContext } from '../process.ts'
import { DriverAnswers, PROBE_TIMEOUT_MS } from './answers.ts'
import { askAgain, askAtStart, stepFailed } from './capability-questions.ts'
import type { ConnectionFailures, HandshakeTable } from './handshake-table.ts'

/** A connected driver whose name is known. */
export interface IdentifiedDriver {
  readonly name: string
  readonly connection: Connection
  readonly operations: OperationMetrics
}

/**
 * Connects, waits until the driver is ready and asks its name. Connects again if the driver replaces an in-tree plugin.
 */
export async function identifyDriver(context: StartContext, table: HandshakeTable): Promise<IdentifiedDriver> {
  const { failures, limits, metricsNameDriverFrom } = table
  const operations = new OperationMetrics(context.metrics)
  const options = connectOptions(context, table, operations)
  const { probeMs } = limits
  const open = (): Promise<Connection> => connect(options)
  const first = table.readsNameBeforeProbe
    ? await open().catch(stepFailed(failures.first.connect))
    : await openReadyConnection(context, { probeMs, failures: failures.first, open })
  const name = await getDriverName(first, { timeoutMs: limits.nameMs, signal: context.signal }).catch(
    stepFailed(failures.name),
  )
  const { migrated } = failures
  if (migrated === undefined || !isMigratedCSIDriverByName(name)) {
    if (metricsNameDriverFrom === 'name') operations.setDriverName(name)
    return { name, connection: first, operations }
  }
  const again = (): Promise<Connection> => connectMigrated(first, { ...options, operations, driverName: name })
  const connection = await openReadyConnection(context, { probeMs, failures: migrated(name), open: again })
  return { name, connection, operations }
}

interface ConnectionSteps {
  readonly probeMs: number
  readonly failures: ConnectionFailures
  readonly open: () => Promise<Connection>
}

async function openReadyConnection(
  { clock, log, signal }: StartContext,
  { probeMs, failures, open }: ConnectionSteps,
): Promise<Connection> {
  const connection = await open().catch(stepFailed(failures.connect))
  await probe(connection, { timeoutMs: probeMs, clock, log, signal }).catch(stepFailed(failures.probe))
  return connection
}

/** Reads the driver's capabilities, and watches its connection from then on. */
export async function openDriver(
  context: StartContext,
  table: HandshakeTable,
  { name, connection, operations }: IdentifiedDriver,
): Promise<Driver> {
  const { clock, signal, log } = context
  const { limits, decisiveCapabilities, failures } = table
  if (table.readsNameBeforeProbe) {
    await probe(connection, { timeoutMs: limits.probeMs, clock, log, signal }).catch(stepFailed(failures.first.probe))
  }
  const questions = table.questions(name)
  const capabilities = await askAtStart(connection, questions, { clock, signal, log, togetherMs: limits.questionsMs })
  if (failures.migrated === undefined || !isMigratedCSIDriverByName(name)) operations.setDriverName(name)
  return createDriver({
    clock,
    log,
    connection,
    identity: { name, capabilities },
    decisiveCapabilities,
    reconnect: (closed) =>
      connect({ ...connectOptions(context, table, operations), timeoutMs: Number.POSITIVE_INFINITY, signal: closed }),
    identify: async (again, closed) => {
      await probe(again, { timeoutMs: limits.probeMs, clock, log, signal: closed })
      const current = await getDriverName(again, { timeoutMs: limits.nameMs, signal: closed })
      return { name: current, capabilities: await askAgain(again, questions, closed) }
    },
  })
}

/** Creates the check whether the driver answers. The metrics of CSI calls do not count the Probes of this check. */
export function openDriverAnswers(
  { standard, clock, log, metrics, atEnd }: StartContext,
  driver: Driver,
): DriverAnswers {
  const address = standard.values['csi-address']
  const probe = (signal: AbortSignal): Promise<boolean> =>
    probeOnce({ address, clock, log, signal, timeoutMs: PROBE_TIMEOUT_MS })
  const answers = new DriverAnswers({ driver, clock, metrics, probe })
  atEnd(() => answers.stop())
  return answers
}

function connectOptions(
  { standard, clock, log, signal, tracer }: StartContext,
  { maxLogLength }: HandshakeTable,
  operations: OperationMetrics,
): ConnectOptions {
  const address = standard.values['csi-address']
  return { address, clock, log, operations, signal, tracer, ...(maxLogLength !== undefined && { maxLogLength }) }
}

import { connect, getDriverName, OperationMetrics } from '@csi-sidecars/csi'
import {
  type DriverApp,
  type DriverAppParts,
  failing,
  type HttpServer,
  listenHttp,
  metricsReply,
  type Routes,
  StartError,
} from '@csi-sidecars/sidecar'
import { Metrics, registerProcessMetrics } from '@csi-sidecars/telemetry'
import { FLAGS, USED_STANDARD_FLAGS } from './flags.ts'
import { checkHealth, SharedProbes } from './health-check.ts'

/** The livenessprobe, which answers the kubelet's `GET /healthz` by a CSI Probe of the driver. */
export const livenessprobe: DriverApp<typeof FLAGS> = {
  name: 'livenessprobe',
  prefix: 'livenessprobe',
  replaces: 'livenessprobe v2.20.0',
  flags: FLAGS,
  usedStandardFlags: USED_STANDARD_FLAGS,
  endingNotice:
    "The livenessprobe ends with the process: the liveness probe of the driver's container fails until it is back",
  open,
}

/** Listens once the driver has returned its name, however long that takes. Until then the kubelet's probe fails. */
async function open(openParts: DriverAppParts<typeof FLAGS>): Promise<void> {
  const { flags, clock, log } = openParts
  const { values } = flags
  checkAddresses(values)
  // A separate registry, so that the calls of the livenessprobe do not count as calls of controllers.
  const metrics = new Metrics()
  registerProcessMetrics(metrics)
  const operations = new OperationMetrics(metrics)
  const driverName = await nameOfDriver(openParts, operations)
  operations.setDriverName(driverName)
  const options = {
    address: values['csi-address'],
    timeoutMs: values['probe-timeout'],
    driverName,
    operations,
    clock,
    log,
  }
  const probes = new SharedProbes((signal) => checkHealth(options, signal))
  await openEndpoints(openParts, new Map([['/healthz', ({ signal }) => probes.ask(signal)]]), metrics)
}

async function nameOfDriver(
  { flags, clock, log, signal }: DriverAppParts<typeof FLAGS>,
  operations: OperationMetrics,
): Promise<string> {
  const address = flags.values['csi-address']
  const timeoutMs = Number.POSITIVE_INFINITY
  const connection = await connect({ address, timeoutMs, clock, log, signal, operations }).catch(
    failing('Failed to establish connection to CSI driver'),
  )
  try {
    log.info('Calling CSI driver to discover driver name')
    const name = await getDriverName(connection, { timeoutMs, signal }).catch(failing('Failed to get CSI driver name'))
    log.info('CSI driver name', { driver: name })
    return name
  } finally {
    connection.close()
  }
}

type LivenessParts = DriverAppParts<typeof FLAGS>
type Values = LivenessParts['flags']['values']

const DEFAULT_PORT = '9808'

/** Throws an error with the message of the Go livenessprobe if two flags exclude each other. */
export function checkAddresses(values: Values): void {
  if (values['http-endpoint'] === '') return
  if (values['health-port'] !== DEFAULT_PORT) {
    throw new StartError('Only one of `--health-port` and `--http-endpoint` can be explicitly set')
  }
  if (values['metrics-address'] !== '') {
    throw new StartError('Only one of `--metrics-address` and `--http-endpoint` can be explicitly set')
  }
}

/** Serves `/healthz`, and metrics if a flag sets an address for them. */
export async function openEndpoints(
  { flags, log, isOnlyApp, atEnd }: LivenessParts,
  health: Routes,
  metrics: Metrics,
): Promise<void> {
  const { values } = flags
  const path = values['metrics-path']
  const metricsRoute: Routes = new Map([[path, metricsReply(metrics)]])
  const closeAtEnd = (server: HttpServer): void => atEnd(() => void server.close())
  const separate = values['metrics-address']
  if (separate !== '') {
    log.info('Separate metrics ServeMux listening', { address: separate })
    const message = 'Failed to start prometheus metrics endpoint on specified address and path'
    closeAtEnd(
      await listenHttp({ address: separate, routes: metricsRoute, log }).catch(
        failing(message, { addr: separate, path }),
      ),
    )
  }
  const endpoint = values['http-endpoint']
  const address = endpoint === '' ? `0.0.0.0:${values['health-port']}` : endpoint
  log.info('ServeMux listening', { address })
  const routes = endpoint === '' ? health : new Map([...metricsRoute, ...health])
  closeAtEnd(
    await listenHttp({ address, routes, log }).catch((cause: unknown) => {
      // The livenessprobe alone exits with 0, as in Go. With controllers, 0 would mean that their work is done.
      throw new StartError('Failed to start http server', { cause, exitCode: isOnlyApp ? 0 : 1 })
    }),
  )
}

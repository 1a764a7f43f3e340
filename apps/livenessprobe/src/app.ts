import { connect, getDriverName, OperationMetrics } from '@csi-sidecars/csi'
import { type DriverApp, type DriverAppParts, failing } from '@csi-sidecars/sidecar'
import { Metrics, registerProcessMetrics } from '@csi-sidecars/telemetry'
import { checkAddresses, openEndpoints } from './endpoints.ts'
import { DRIVER_FLAGS, FLAGS } from './flags.ts'
import { checkHealth, SharedProbes } from './health-check.ts'

/** Turns `GET /healthz` into Probe: the kubelet's liveness probe of the driver's container. */
export const livenessprobe: DriverApp<typeof FLAGS> = {
  name: 'livenessprobe',
  prefix: 'livenessprobe',
  replaces: 'livenessprobe v2.20.0',
  flags: FLAGS,
  driverFlags: DRIVER_FLAGS,
  endsToo:
    "The livenessprobe ends with the process: the liveness probe of the driver's container fails until it is back",
  open,
}

/** Listens once the driver has answered its name, however long that takes. Until then the kubelet's probe fails. */
async function open(parts: DriverAppParts<typeof FLAGS>): Promise<void> {
  const { flags, clock, log } = parts
  const { values } = flags
  checkAddresses(values)
  // A separate registry, so that calls are counted for each controller, as in separate processes.
  const metrics = new Metrics()
  registerProcessMetrics(metrics)
  const operations = new OperationMetrics(metrics)
  const driverName = await nameOfDriver(parts, operations)
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
  await openEndpoints(parts, new Map([['/healthz', ({ signal }) => probes.ask(signal)]]), metrics)
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

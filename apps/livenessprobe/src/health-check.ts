import type { Clock } from '@csi-sidecars/base'
import { messageOf } from '@csi-sidecars/base'
import { ConnectError, type OperationMetrics, probeOnce } from '@csi-sidecars/csi'
import type { EndpointReply } from '@csi-sidecars/sidecar'
import type { Logger } from '@csi-sidecars/telemetry'

export interface HealthCheckOptions {
  readonly address: string
  readonly timeoutMs: number
  readonly driverName: string
  readonly operations: OperationMetrics
  readonly clock: Clock
  readonly log: Logger
}

/** Answers `/healthz` by one Probe on a separate connection. Texts and codes equal those of the Go original. */
export async function checkHealth(options: HealthCheckOptions, signal: AbortSignal): Promise<EndpointReply> {
  const { log, driverName } = options
  try {
    log.v(5)?.info('Sending probe request to CSI driver', { driver: driverName })
    if (!(await probeOnce({ ...options, signal }))) {
      log.error(undefined, 'Driver responded but is not ready')
      return reply(500, 'driver responded but is not ready')
    }
    log.v(5)?.info('Health check succeeded')
    return reply(200, 'ok')
  } catch (error) {
    if (error instanceof ConnectError) log.error(error, 'Failed to establish connection to CSI driver')
    else log.error(error, 'Health check failed')
    return reply(500, messageOf(error))
  }
}

function reply(status: number, body: string): EndpointReply {
  return { status, body, headers: { 'Content-Type': 'text/plain; charset=utf-8' } }
}

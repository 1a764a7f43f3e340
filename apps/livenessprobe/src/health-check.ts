import { CancelledError, type Clock, messageOf, onAbort, type Scope, scope } from '@csi-sidecars/base'
import { ConnectError, type OperationMetrics, probeOnce } from '@csi-sidecars/csi'
import type { EndpointReply } from '@csi-sidecars/sidecar'
import type { Logger } from '@csi-sidecars/telemetry'

/** How one health check asks the driver. All its calls end after `timeoutMs`. */
export interface HealthCheckOptions {
  readonly address: string
  readonly timeoutMs: number
  readonly driverName: string
  readonly operations: OperationMetrics
  readonly clock: Clock
  readonly log: Logger
}

/** Answers `/healthz` by one CSI Probe on a separate connection, with the texts and codes of the Go livenessprobe. */
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

/** The limit of concurrent probes. Otherwise repeated requests would open many connections to a hanging driver. */
const MAX_PARALLEL_PROBES = 8

interface Running<T> {
  readonly result: Promise<T>
  readonly life: Scope
  /** The number of HTTP requests that wait for this probe. */
  waiting: number
}

/** Runs a probe for each request, up to a limit. Beyond the limit, requests share the probe that began last. */
export class SharedProbes<T> {
  readonly #probe: (signal: AbortSignal) => Promise<T>
  readonly #running = new Set<Running<T>>()

  constructor(probe: (signal: AbortSignal) => Promise<T>) {
    this.#probe = probe
  }

  /** Waits for a probe, which ends early if all its requests are aborted. */
  async ask(signal: AbortSignal): Promise<T> {
    const probe = (this.#running.size < MAX_PARALLEL_PROBES ? undefined : [...this.#running].at(-1)) ?? this.#start()
    probe.waiting += 1
    const removeAbortListener = onAbort(signal, () => {
      probe.waiting -= 1
      if (probe.waiting === 0) probe.life.abort(new CancelledError('no request waits for the probe'))
    })
    try {
      return await probe.result
    } finally {
      removeAbortListener()
    }
  }

  #start(): Running<T> {
    const life = scope()
    const result = this.#probe(life.signal).finally(() => this.#running.delete(probe))
    const probe: Running<T> = { result, life, waiting: 0 }
    this.#running.add(probe)
    return probe
  }
}

import { abortable, CancelledError, type Clock, deadline, scope } from '@csi-sidecars/base'
import { type Driver, RpcError } from '@csi-sidecars/csi'
import { DRIVER_ANSWER_AGE_SECONDS, type Metrics } from '@csi-sidecars/telemetry'

/** The time limit of a Probe. */
export const PROBE_TIMEOUT_MS = 5_000
/** The pause between two Probes, so that frequent requests to /readyz do not load the driver. */
const PROBE_INTERVAL_MS = 10_000
/** How long a request to /readyz waits for a Probe. The kubelet waits one second for the whole answer. */
const MAX_WAIT_MS = 500
/** How long an answer is valid: longer than the period and the time limit of a Probe together. */
const MAX_ANSWER_AGE_MS = 15_000

/**
 * What the record of the driver's answers needs. `probe` is called only while no other call shows that the driver
 * answers.
 */
export interface DriverAnswersOptions {
  readonly driver: Pick<Driver, 'name' | 'subscribe'>
  readonly clock: Clock
  readonly metrics: Metrics
  /** Sends one Probe on a separate connection. Returns whether the driver is ready. */
  readonly probe: (signal: AbortSignal) => Promise<boolean>
}

/** The result of the last Probe. */
type Result = 'ready' | 'not ready' | 'no answer'

/**
 * Reports whether the driver answers. It sends Probes because a driver with an open connection may hang. It sends them
 * only while clients request /readyz, at most one in ten seconds.
 */
export class DriverAnswers {
  readonly #options: DriverAnswersOptions
  readonly #life = scope()
  readonly #unsubscribe: () => void
  #result: Result = 'ready'
  #answeredAt = 0
  #probedAt = 0
  #running: Promise<void> | undefined
  #asked = false

  /** Call it right after the handshake, which counts as an answer. */
  constructor(options: DriverAnswersOptions) {
    this.#options = options
    const { driver, clock, metrics } = options
    this.#probedAt = clock.monotonic()
    this.#record('ready')
    this.#unsubscribe = driver.subscribe(({ type }) => {
      if (type === 'ready') this.#record('ready')
    })
    metrics.addSeries({
      ...DRIVER_ANSWER_AGE_SECONDS,
      read: () => (this.#asked ? [{ labels: { driver_name: driver.name }, value: this.#ageMs / 1000 }] : []),
    })
  }

  /** Returns why the driver is not ready, or undefined, according to a recent Probe. Takes at most half a second. */
  async whyNotReady(): Promise<string | undefined> {
    const { clock, driver } = this.#options
    this.#asked = true
    if (clock.monotonic() - this.#probedAt >= PROBE_INTERVAL_MS) this.#running ??= this.#probe()
    if (this.#running !== undefined) {
      using wait = deadline(clock, MAX_WAIT_MS, { operation: 'waiting for a Probe' })
      await abortable(this.#running, wait.signal).catch(() => {})
    }
    if (this.#result === 'no answer' || this.#ageMs >= MAX_ANSWER_AGE_MS) {
      return `CSI driver ${driver.name} has not answered for ${Math.round(this.#ageMs / 1000)} s`
    }
    return this.#result === 'ready' ? undefined : `CSI driver ${driver.name} answers that it is not ready`
  }

  /** Ends a running Probe. */
  stop(): void {
    this.#unsubscribe()
    this.#life.abort(new CancelledError('the process is ending'))
  }

  get #ageMs(): number {
    return this.#options.clock.monotonic() - this.#answeredAt
  }

  async #probe(): Promise<void> {
    const { clock, probe } = this.#options
    this.#probedAt = clock.monotonic()
    try {
      this.#record((await probe(this.#life.signal)) ? 'ready' : 'not ready')
    } catch (error) {
      // An error that the driver returns counts as an answer.
      this.#record(error instanceof RpcError && error.origin === 'driver' ? 'ready' : 'no answer')
    } finally {
      this.#running = undefined
    }
  }

  #record(result: Result): void {
    this.#result = result
    if (result !== 'no answer') this.#answeredAt = this.#options.clock.monotonic()
  }
}

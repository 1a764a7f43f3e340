import { CancelledError, onAbort, type Scope, scope } from '@csi-sidecars/base'

/** The most probes at a time: a hanging driver must not hold a connection for each request of an impatient client. */
const MOST_AT_ONCE = 8

interface Running<T> {
  readonly result: Promise<T>
  readonly life: Scope
  /** The number of requests that wait for the probe. */
  waiting: number
}

/** Runs a probe for each request, up to a limit. Beyond the limit, requests share the probe that began last. */
export class SharedProbes<T> {
  readonly #probe: (signal: AbortSignal) => Promise<T>
  readonly #running = new Set<Running<T>>()

  constructor(probe: (signal: AbortSignal) => Promise<T>) {
    this.#probe = probe
  }

  /** Waits for a probe. The probe ends early if the signals of all its requests are aborted. */
  async ask(signal: AbortSignal): Promise<T> {
    const probe = (this.#running.size < MOST_AT_ONCE ? undefined : [...this.#running].at(-1)) ?? this.#start()
    probe.waiting += 1
    const ignoreAbort = onAbort(signal, () => {
      probe.waiting -= 1
      if (probe.waiting === 0) probe.life.abort(new CancelledError('no request waits for the probe'))
    })
    try {
      return await probe.result
    } finally {
      ignoreAbort()
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

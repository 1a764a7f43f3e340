import { CancelledError, onAbort, type Scope, scope } from '@csi-sidecars/base'

/** Probes at a time: a driver that hangs must not hold a connection for each request of an impatient client. */
const MOST_AT_ONCE = 8

interface Running<T> {
  readonly result: Promise<T>
  readonly life: Scope
  /** Requests that wait for it. */
  waiting: number
}

/** Each request is a probe of its own, up to a limit; beyond it, requests share the probe that began last. */
export class SharedProbes<T> {
  readonly #probe: (signal: AbortSignal) => Promise<T>
  readonly #running = new Set<Running<T>>()

  constructor(probe: (signal: AbortSignal) => Promise<T>) {
    this.#probe = probe
  }

  /** Ends the probe when the signals of all requests that wait for it are aborted. */
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

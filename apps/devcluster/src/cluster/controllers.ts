import { CancelledError, type Clock, toError } from '@csi-sidecars/base'
import type { Life } from '../control.ts'

/** How long what is in work may take to end before it is given up. */
const GRACE_MS = 3_000

interface Running {
  readonly stop: AbortController
  readonly cut: AbortController
  readonly ended: Promise<void>
}

/** Runs controllers by name, each with a life of its own, so that one can be ended and started again while others go on. */
export class Controllers {
  readonly #clock: Clock
  readonly #fail: (name: string, error: Error) => void
  readonly #runs = new Map<string, (life: Life) => Promise<void>>()
  readonly #running = new Map<string, Running>()

  /** `fail` is told of one that ended by itself. */
  constructor(clock: Clock, fail: (name: string, error: Error) => void) {
    this.#clock = clock
    this.#fail = fail
  }

  get names(): readonly string[] {
    return [...this.#runs.keys()]
  }

  start(name: string, run: (life: Life) => Promise<void>): void {
    const stop = new AbortController()
    const cut = new AbortController()
    const ended = run({ stop: stop.signal, cut: cut.signal }).catch((error: unknown) => {
      if (!stop.signal.aborted) this.#fail(name, toError(error))
    })
    this.#runs.set(name, run)
    this.#running.set(name, { stop, cut, ended })
  }

  /** Ends a controller, and resolves when nothing of it runs any more. */
  async stop(name: string): Promise<void> {
    const running = this.#running.get(name)
    if (running === undefined) return
    const { stop, cut, ended } = running
    stop.abort(new CancelledError(`${name} is stopped`))
    const cancel = this.#clock.schedule(GRACE_MS, () => cut.abort(new CancelledError(`${name} is cut short`)))
    await ended
    cancel()
    this.#running.delete(name)
  }

  /** Starts one again that was stopped: it knows nothing of its earlier life. */
  begin(name: string): void {
    const run = this.#runs.get(name)
    if (run !== undefined && !this.#running.has(name)) this.start(name, run)
  }

  /** As if its process had been killed and started again. */
  async restart(name: string): Promise<void> {
    await this.stop(name)
    this.begin(name)
  }

  async stopAll(): Promise<void> {
    await Promise.all([...this.#running.keys()].map((name) => this.stop(name)))
  }
}

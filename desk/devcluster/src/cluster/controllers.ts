import { CancelledError, type Clock, toError } from '@csi-sidecars/base'
import { type Controller, runTerm } from '@csi-sidecars/controller'

/** The time that a running reconcile gets to finish after `stop`. Then the reconcile is aborted. */
const GRACE_MS = 3_000

interface Running {
  readonly stop: AbortController
  readonly cancelRuns: AbortController
  readonly ended: Promise<void>
}

/** Creates new controllers for a component, without the state of an earlier run. */
type Component = () => readonly Controller[]

/** Runs components by name, such as `attach-detach`. Each can be stopped and started while the others continue. */
export class Controllers {
  readonly #clock: Clock
  readonly #fail: (name: string, error: Error) => void
  readonly #components = new Map<string, Component>()
  readonly #running = new Map<string, Running>()

  /** Calls `fail` with the error of a component that ends although `stop` was not called. */
  constructor(clock: Clock, fail: (name: string, error: Error) => void) {
    this.#clock = clock
    this.#fail = fail
  }

  get names(): readonly string[] {
    return [...this.#components.keys()]
  }

  start(name: string, component: Component): void {
    const stop = new AbortController()
    const cancelRuns = new AbortController()
    const ended = this.#run(component, stop.signal, cancelRuns.signal).catch((error: unknown) => {
      if (!stop.signal.aborted) this.#fail(name, toError(error))
    })
    this.#components.set(name, component)
    this.#running.set(name, { stop, cancelRuns, ended })
  }

  /** Runs a component without leader election. It first waits until the caches contain its earlier writes. */
  async #run(component: Component, stop: AbortSignal, cancelRuns: AbortSignal): Promise<void> {
    const clock = this.#clock
    await runTerm({ stop, cancelRuns, assertLeading: () => undefined, soleSince: clock.monotonic() }, component(), {
      clock,
    })
  }

  /** Stops a component. Resolves when it has ended. */
  async stop(name: string): Promise<void> {
    const running = this.#running.get(name)
    if (running === undefined) return
    const { stop, cancelRuns, ended } = running
    stop.abort(new CancelledError(`${name} is stopped`))
    const cancel = this.#clock.schedule(GRACE_MS, () => cancelRuns.abort(new CancelledError(`${name} is cut short`)))
    await ended
    cancel()
    this.#running.delete(name)
  }

  /** Starts a component that was stopped. */
  begin(name: string): void {
    const component = this.#components.get(name)
    if (component !== undefined && !this.#running.has(name)) this.start(name, component)
  }

  /** Restarts the component, as if its process had been killed. */
  async restart(name: string): Promise<void> {
    await this.stop(name)
    this.begin(name)
  }

  async stopAll(): Promise<void> {
    await Promise.all([...this.#running.keys()].map((name) => this.stop(name)))
  }
}

import type { Clock } from '@csi-sidecars/base'
import type { AnyController, Outcome } from '@csi-sidecars/controller'
import type { Driver } from '@csi-sidecars/csi'
import { newTraceId, type RunContexts } from '@csi-sidecars/telemetry'
import type { RunTracer } from '@csi-sidecars/telemetry/tracing'
import { FifoOrder, type KeyOrder, type KeyPriority } from '@csi-sidecars/workqueue'
import type { StartContext } from '../process.ts'

interface TracedRuns {
  readonly runs: RunContexts
  readonly tracer: RunTracer
  readonly clock: Clock
  readonly driverName: string
}

/** Returns controllers whose runs have an ID, and a trace if tracing is on. */
export function withRunIds(
  { runs, tracer, clock }: Pick<StartContext, 'runs' | 'tracer' | 'clock'>,
  driver: Pick<Driver, 'name'>,
  controllers: readonly AnyController[],
): readonly AnyController[] {
  if (runs === undefined) return controllers
  if (tracer !== undefined)
    return controllers.map((each) => withTraces(each, { runs, tracer, clock, driverName: driver.name }))
  return controllers.map((each) => ({ ...each, wrapRun: (_, run) => runs.run({ traceId: newTraceId(clock) }, run) }))
}

function withTraces(controller: AnyController, { runs, tracer, clock, driverName }: TracedRuns): AnyController {
  const order = new TimedOrder(controller.order ?? new FifoOrder(), clock)
  const wrapRun = async (key: string, run: () => Promise<Outcome>): Promise<Outcome> => {
    const { operation, names, traceparent } = controller.traceSubject?.(key) ?? { operation: 'reconcile', names: {} }
    const attributes = { 'csi.driver.name': driverName, ...names }
    const context = tracer.start({ name: operation, attributes, traceparent, waitedMs: order.waitedMs(key) })
    const outcome = await runs.run(context, run)
    context.trace.end({ 'csi.sidecar.outcome': outcome.kind }, 'cause' in outcome ? outcome.cause : undefined)
    return outcome
  }
  return { ...controller, order, wrapRun }
}

/** Wraps the order of a queue, and measures how long each key waits. */
class TimedOrder implements KeyOrder {
  readonly #order: KeyOrder
  readonly #clock: Clock
  readonly #since = new Map<string, number>()
  readonly #waited = new Map<string, number>()

  constructor(order: KeyOrder, clock: Clock) {
    this.#order = order
    this.#clock = clock
  }

  /** Returns how long a running key has waited in the queue. */
  waitedMs(key: string): number {
    return this.#waited.get(key) ?? 0
  }

  get length(): number {
    return this.#order.length
  }

  push(key: string, priority: KeyPriority): void {
    this.#since.set(key, this.#clock.monotonic())
    this.#order.push(key, priority)
  }

  touch(key: string): void {
    this.#order.touch(key)
  }

  blockedBy(key: string): string | undefined {
    return this.#order.blockedBy?.(key)
  }

  pop(): string | undefined {
    const key = this.#order.pop()
    const since = key === undefined ? undefined : this.#since.get(key)
    if (key !== undefined && since !== undefined) {
      this.#since.delete(key)
      this.#waited.set(key, this.#clock.monotonic() - since)
    }
    return key
  }

  release(key: string): void {
    this.#waited.delete(key)
    this.#order.release(key)
  }
}

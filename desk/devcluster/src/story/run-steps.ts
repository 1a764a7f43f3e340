import { abortable, type Clock, DeadlineError, deadline } from '@csi-sidecars/base'
import { codeNameOf, type SeenCall } from '@csi-sidecars/disturb'
import type { ClusterEvent } from './cluster-event.ts'
import type { Expectation, StoryLine } from './expectation.ts'

/** One step of the demo: an action, and the events that have to follow. */
export interface StoryStep {
  readonly title: string
  readonly act: (signal: AbortSignal) => Promise<void>
  readonly expects: readonly Expectation[]
}

/** An output that shows the progress of the steps. */
export interface Printer {
  step(number: number, title: string): void
  /** Prints a line, `afterMs` milliseconds after the start of the step. */
  line(line: StoryLine, afterMs: number): void
  /** Reports the end of a step. `failure` names the event that has not happened. */
  ended(number: number, failure?: string): void
}

export type Ending =
  | { readonly kind: 'succeeded' }
  | { readonly kind: 'failed'; readonly step: string; readonly expected: string; readonly refusals: readonly string[] }

/** The steps to run, their limits, and the output. */
export interface StepRunOptions {
  readonly steps: readonly StoryStep[]
  /** The number of the first step. The default is 1. */
  readonly firstNumber?: number
  readonly printer: Printer
  readonly clock: Clock
  /** Subscribes to the events of the cluster. Returns a function that ends the subscription. */
  readonly watch: (listener: (event: ClusterEvent) => void) => () => void
  /** The time limit of one step. */
  readonly stepMs: number
  readonly pauseMs: number
}

/** Runs the steps in order, each until all its expected events have happened. Ends after the first failure. */
export async function runSteps(options: StepRunOptions, signal: AbortSignal): Promise<Ending> {
  const { steps, firstNumber = 1, printer, clock, pauseMs } = options
  for (const [index, step] of steps.entries()) {
    const number = firstNumber + index
    if (pauseMs > 0) await clock.sleep(pauseMs, signal)
    printer.step(number, step.title)
    const missing = await runStep(step, options, signal)
    printer.ended(number, missing?.expected)
    if (missing !== undefined) return { kind: 'failed', step: step.title, ...missing }
  }
  return { kind: 'succeeded' }
}

interface NotTrue {
  readonly expected: string
  /** The last failed call of each method, with the driver's error message. */
  readonly refusals: readonly string[]
}

/** Runs one step. Returns the first missing event, or undefined. */
async function runStep(
  { act, expects, title }: StoryStep,
  { printer, clock, watch, stepMs }: StepRunOptions,
  signal: AbortSignal,
): Promise<NotTrue | undefined> {
  const missing = new Set(expects)
  const done = Promise.withResolvers<void>()
  const refusals = new Map<string, string>()
  const start = clock.monotonic()
  if (missing.size === 0) done.resolve()
  const leave = watch((event) => {
    if (event.kind === 'call') note(event.call, refusals)
    for (const expectation of missing) {
      const line = expectation.see(event)
      if (line === undefined) continue
      missing.delete(expectation)
      printer.line(line, clock.monotonic() - start)
    }
    if (missing.size === 0) done.resolve()
  })
  using limit = deadline(clock, stepMs, { operation: title, signal })
  try {
    await act(limit.signal)
    await abortable(done.promise, limit.signal)
    return undefined
  } catch (error) {
    signal.throwIfAborted()
    const [first] = missing
    if (first === undefined || !(error instanceof DeadlineError)) throw error
    return { expected: first.expected, refusals: [...refusals.values()] }
  } finally {
    leave()
  }
}

/** Records a failed call, and drops the record when the method succeeds later. */
function note({ method, code, message }: SeenCall, refusals: Map<string, string>): void {
  if (code === 0) refusals.delete(method)
  else refusals.set(method, `${method}: ${codeNameOf(code)}${message ? ` ${JSON.stringify(message)}` : ''}`)
}

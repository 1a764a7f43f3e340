import { abortable, type Clock, DeadlineError, deadline } from '@csi-sidecars/base'
import { codeNameOf, type SeenCall } from '@csi-sidecars/disturb'
import type { ClusterEvent } from './cluster-event.ts'
import type { Expectation, StoryLine } from './expectation.ts'

/** Something is done, and then a number of things have to happen. */
export interface Step {
  readonly title: string
  readonly act: (signal: AbortSignal) => Promise<void>
  readonly expects: readonly Expectation[]
}

/** Prints the story as it runs. */
export interface Printer {
  step(number: number, title: string): void
  /** `afterMs`: since the step began. */
  line(line: StoryLine, afterMs: number): void
  /** The step is over. `failure` names the missing event. */
  ended(number: number, failure?: string): void
}

export type Ending =
  | { readonly is: 'succeeded' }
  | { readonly is: 'failed'; readonly step: string; readonly what: string; readonly refusals: readonly string[] }

export interface RunOptions {
  readonly steps: readonly Step[]
  /** The number of the first; 1 without it. */
  readonly firstNumber?: number
  readonly printer: Printer
  readonly clock: Clock
  /** Subscribes to the events. */
  readonly watch: (listener: (event: ClusterEvent) => void) => () => void
  /** How long one step may take. */
  readonly stepMs: number
  /** The pause before each step. */
  readonly pauseMs: number
}

/** Plays the steps one after the other, each until all that it expects has happened. Ends at the first that fails. */
export async function runSteps(options: RunOptions, signal: AbortSignal): Promise<Ending> {
  const { steps, firstNumber = 1, printer, clock, pauseMs } = options
  for (const [index, step] of steps.entries()) {
    const number = firstNumber + index
    if (pauseMs > 0) await clock.sleep(pauseMs, signal)
    printer.step(number, step.title)
    const missing = await runStep(step, options, signal)
    printer.ended(number, missing?.what)
    if (missing !== undefined) return { is: 'failed', step: step.title, ...missing }
  }
  return { is: 'succeeded' }
}

interface NotTrue {
  readonly what: string
  /** Calls that the driver refused, the last of each kind, with its error message. */
  readonly refusals: readonly string[]
}

/** Returns the missing events. */
async function runStep(
  { act, expects, title }: Step,
  { printer, clock, watch, stepMs }: RunOptions,
  signal: AbortSignal,
): Promise<NotTrue | undefined> {
  const missing = new Set(expects)
  const done = Promise.withResolvers<void>()
  const refusals = new Map<string, string>()
  const start = clock.monotonic()
  if (missing.size === 0) done.resolve()
  const leave = watch((event) => {
    if (event.is === 'call') note(event.call, refusals)
    for (const expectation of missing) {
      const line = expectation.see(event)
      if (line === undefined) continue
      missing.delete(expectation)
      printer.line(line, clock.monotonic() - start)
    }
    if (missing.size === 0) done.resolve()
  })
  using limit = deadline(clock, stepMs, { what: title, signal })
  try {
    await act(limit.signal)
    await abortable(done.promise, limit.signal)
    return undefined
  } catch (error) {
    signal.throwIfAborted()
    const [first] = missing
    if (first === undefined || !(error instanceof DeadlineError)) throw error
    return { what: first.what, refusals: [...refusals.values()] }
  } finally {
    leave()
  }
}

/** A call that succeeds in the end was no lasting refusal. */
function note({ method, code, message }: SeenCall, refusals: Map<string, string>): void {
  if (code === 0) refusals.delete(method)
  else refusals.set(method, `${method}: ${codeNameOf(code)}${message ? ` ${JSON.stringify(message)}` : ''}`)
}

import type { Cancel, Clock } from './clock.ts'
import { errorChain, isError } from './errors.ts'
import { onAbort } from './on-abort.ts'

/** An AbortSignal and a function that aborts it. Call `dispose` in `finally`, to leave no listener and no timer. */
export interface Scope extends Disposable {
  readonly signal: AbortSignal
  abort(reason: Error): void
  dispose(): void
}

/** The error of a deadline that has passed. `operation` names what took too long. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError'
  readonly operation: string

  constructor(operation: string) {
    super(`${operation}: deadline exceeded`)
    this.operation = operation
  }
}

/** The error of work that was cancelled, for example by a shutdown, a lost lease or a disconnected driver. */
export class CancelledError extends Error {
  override readonly name = 'CancelledError'
}

/** Reports whether an error or one of its causes is a CancelledError, a DeadlineError or an AbortError of Node. */
export function isAbort(thrown: unknown): boolean {
  for (const cause of errorChain(thrown)) {
    if (cause instanceof CancelledError || cause instanceof DeadlineError) return true
    if (isError(cause) && cause.name === 'AbortError') return true
  }
  return false
}

/** Creates a signal that is aborted when one of its parents is aborted. An abort or `dispose` removes its listeners. */
export function scope(...parents: readonly (AbortSignal | undefined)[]): Scope {
  return follow(parents)
}

interface Deadline {
  readonly operation: string
  readonly signal?: AbortSignal | undefined
}

/** Creates a signal that follows the given signal and is aborted with a DeadlineError after `ms`. */
export function deadline(clock: Clock, ms: number, { operation, signal }: Deadline): Scope {
  return follow([signal], (abort) => clock.schedule(ms, () => abort(new DeadlineError(operation))))
}

function follow(
  parents: readonly (AbortSignal | undefined)[],
  startTimer?: (abort: (reason: Error) => void) => Cancel,
): Scope {
  const controller = new AbortController()
  const undo: (() => void)[] = []
  const dispose = (): void => {
    for (const each of undo.splice(0)) each()
  }
  const abort = (reason: unknown): void => {
    dispose()
    controller.abort(reason)
  }
  for (const parent of parents) {
    if (parent === undefined) continue
    if (parent.aborted) {
      abort(parent.reason)
      break
    }
    undo.push(onAbort(parent, () => abort(parent.reason)))
  }
  if (startTimer !== undefined && !controller.signal.aborted) undo.push(startTimer(abort))
  return { signal: controller.signal, abort, dispose, [Symbol.dispose]: dispose }
}

/**
 * Settles like the promise, but rejects with the signal's reason if the signal is aborted first.
 * The work behind the promise continues, and its late rejection is not reported as unhandled.
 */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise
  return new Promise((resolve, reject) => {
    if (signal.aborted) reject(signal.reason)
    const removeAbortListener = onAbort(signal, () => reject(signal.reason))
    promise.then(resolve, reject).finally(removeAbortListener)
  })
}

/**
 * Resolves with the signal's reason when the signal is aborted. The listener stays until the abort, so in a race pass
 * the signal of a scope.
 */
export function aborted(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason)
    else onAbort(signal, () => resolve(signal.reason))
  })
}

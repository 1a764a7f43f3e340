import { invariant } from '@csi-sidecars/base'

/** A request or call that has been sent. Its effect and its answer come when somebody says so, or never. */
export interface InFlight {
  readonly label: string
  readonly applied: boolean
  /** It takes effect; the answer is still to come. */
  apply(): void
  /** The sender hears of what came of it, or of the failure: then the effect, if there was none before, never comes. */
  answer(failure?: Error): void
}

export interface Passing {
  readonly signal?: AbortSignal | undefined
  /** What the sender hears when its signal ends the wait. */
  readonly onAbort?: (reason: unknown) => unknown
  readonly ended?: () => void
}

/** Where everything stops that leaves the process, so that a test decides what happens next. */
export class Gate {
  readonly inFlight: InFlight[] = []
  #open = false
  #closed = false

  /** From now on everything passes at once. */
  open(): void {
    this.#open = true
    for (const each of [...this.inFlight]) each.answer()
  }

  get isClosed(): boolean {
    return this.#closed
  }

  /** The sender is dead: nothing that it sends from now on leaves, and no answer reaches it. */
  close(): void {
    this.#closed = true
    this.inFlight.length = 0
  }

  pass<T>(label: string, effect: () => T, { signal, onAbort = (reason) => reason, ended }: Passing = {}): Promise<T> {
    if (signal?.aborted) return Promise.reject(onAbort(signal.reason))
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    if (this.#closed) return promise
    let outcome: { readonly value: T } | { readonly error: unknown } | undefined
    const apply = (): typeof outcome => {
      try {
        outcome ??= { value: effect() }
      } catch (error) {
        outcome ??= { error }
      }
      return outcome
    }
    const leave = (): void => {
      signal?.removeEventListener('abort', abort)
      const index = this.inFlight.indexOf(entry)
      invariant(index >= 0, `${label} was answered twice`)
      this.inFlight.splice(index, 1)
      ended?.()
    }
    const abort = (): void => {
      leave()
      reject(onAbort(signal?.reason))
    }
    const entry: InFlight = {
      label,
      get applied() {
        return outcome !== undefined
      },
      apply: () => void apply(),
      answer: (failure) => {
        leave()
        if (failure !== undefined) return reject(failure)
        const came = apply()
        if (came !== undefined && 'value' in came) resolve(came.value)
        else reject(came?.error)
      },
    }
    this.inFlight.push(entry)
    signal?.addEventListener('abort', abort, { once: true })
    if (this.#open) entry.answer()
    return promise
  }
}

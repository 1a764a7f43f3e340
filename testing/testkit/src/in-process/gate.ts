import { invariant } from '@csi-sidecars/base'

/** A request or call of the process under test. */
export interface Outgoing {
  /** `patch volumeattachments/va-1/status`. */
  readonly label: string
  /** True if it changes something. */
  readonly write: boolean
  /** Absent for a call. */
  readonly request?: SentRequest
}

/** A request to the API server. */
export interface SentRequest {
  readonly verb: 'get' | 'list' | 'watch' | 'create' | 'replace' | 'patch' | 'delete' | 'discover'
  /** `persistentvolumeclaims/status`, `pods`. */
  readonly what: string
  /** The namespace of a list or a watch, or an empty text. */
  readonly name: string
  readonly body?: unknown
  readonly priority?: string | undefined
}

export interface Passing {
  readonly signal?: AbortSignal | undefined
  /** The sender's error when its signal ends the wait; without it the signal's reason. */
  readonly onAbort?: ((reason: unknown) => unknown) | undefined
  /** Throws if the sender must not send the request. */
  readonly beforeSend?: (() => void) | undefined
}

/** Everything that a process sends passes here, requests and calls alike, so that a test decides its result. */
export interface RequestGate {
  pass<T>(outgoing: Outgoing, effect: () => Promise<T>, passing?: Passing): Promise<T>
}

export const OPEN_GATE: RequestGate = { pass: (_outgoing, effect) => effect() }

/** Something that has been sent. The test decides when its effect and its answer come, if ever. */
export interface InFlight extends Outgoing {
  readonly applied: boolean
  /** It takes effect; the answer is still to come. */
  apply(): void
  /** The sender gets the result, or the failure: then an effect that has not come yet never comes. */
  answer(failure?: Error): void
}

/** Everything stops here until the test releases it, one by one and in any order. */
export class StepGate implements RequestGate {
  readonly inFlight: InFlight[] = []
  #open = false
  #closed = false

  /** Lets all requests pass at once. */
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

  pass<T>(outgoing: Outgoing, effect: () => Promise<T>, passing: Passing = {}): Promise<T> {
    // A watch has a delay of its own.
    if (outgoing.request?.verb === 'watch') return effect()
    const { signal, onAbort = (reason: unknown) => reason } = passing
    if (signal?.aborted) return Promise.reject(onAbort(signal.reason))
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    if (this.#closed) return promise
    let outcome: Promise<T> | undefined
    const apply = (): Promise<T> => {
      outcome ??= effect()
      // The sender may never get an answer.
      outcome.catch(() => undefined)
      return outcome
    }
    const leave = (): void => {
      signal?.removeEventListener('abort', abort)
      const index = this.inFlight.indexOf(entry)
      invariant(index >= 0, `${outgoing.label} was answered twice`)
      this.inFlight.splice(index, 1)
    }
    const abort = (): void => {
      leave()
      reject(onAbort(signal?.reason))
    }
    const entry: InFlight = {
      ...outgoing,
      get applied() {
        return outcome !== undefined
      },
      apply: () => void apply(),
      answer: (failure) => {
        leave()
        if (failure !== undefined) reject(failure)
        else apply().then(resolve, reject)
      },
    }
    this.inFlight.push(entry)
    signal?.addEventListener('abort', abort, { once: true })
    if (this.#open) entry.answer()
    return promise
  }
}

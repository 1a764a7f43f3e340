import { invariant } from '@csi-sidecars/base'

/** A request to the API server or a call to the driver by the process under test. */
export interface Outgoing {
  /** The text that identifies the request, such as `patch volumeattachments/va-1/status`. */
  readonly label: string
  /** True if the request or call changes an object or a volume. */
  readonly write: boolean
  /** The request. Absent for a call to the driver. */
  readonly request?: SentRequest
}

/** A request to the API server. */
export interface SentRequest {
  readonly verb: 'get' | 'list' | 'watch' | 'create' | 'replace' | 'patch' | 'delete' | 'discover'
  /** The resource, such as `pods` or `persistentvolumeclaims/status`. */
  readonly resource: string
  /** The name of the object. For a list or a watch, the namespace or an empty text. */
  readonly name: string
  readonly body?: unknown
  readonly priority?: string | undefined
}

/** The sender's conditions for one request or call: its cancellation, and a last check before it is sent. */
export interface Passing {
  readonly signal?: AbortSignal | undefined
  /** Returns the error that an aborted request throws. Default: the reason of the signal. */
  readonly onAbort?: ((reason: unknown) => unknown) | undefined
  /** Called before the request is sent. If this function throws, the request is not sent. */
  readonly beforeSend?: (() => void) | undefined
}

/** A hook around all requests and driver calls of a process. A test can delay them or let them fail. */
export interface RequestGate {
  pass<T>(outgoing: Outgoing, effect: () => Promise<T>, passing?: Passing): Promise<T>
}

export const OPEN_GATE: RequestGate = { pass: (_outgoing, effect) => effect() }

/** A request or driver call that waits for the test. The test decides when it takes effect and when it is answered. */
export interface InFlight extends Outgoing {
  readonly applied: boolean
  /** Lets the request take effect, but does not answer it yet. */
  apply(): void
  /** Answers with the result, after applying the request if necessary. With `failure`, only lets it fail. */
  answer(failure?: Error): void
}

/** A gate that holds all requests and calls until the test releases them, in any order. */
export class StepGate implements RequestGate {
  readonly inFlight: InFlight[] = []
  #open = false
  #closed = false

  /** Releases all waiting requests. Later requests pass immediately. */
  open(): void {
    this.#open = true
    for (const each of [...this.inFlight]) each.answer()
  }

  get isClosed(): boolean {
    return this.#closed
  }

  /** Simulates the death of the sender: later requests are not sent, and no answer arrives. */
  close(): void {
    this.#closed = true
    this.inFlight.length = 0
  }

  pass<T>(outgoing: Outgoing, effect: () => Promise<T>, passing: Passing = {}): Promise<T> {
    // Watches pass, because `InProcessClient` delays their events itself.
    if (outgoing.request?.verb === 'watch') return effect()
    const { signal, onAbort = (reason: unknown) => reason } = passing
    if (signal?.aborted) return Promise.reject(onAbort(signal.reason))
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    if (this.#closed) return promise
    let outcome: Promise<T> | undefined
    const apply = (): Promise<T> => {
      outcome ??= effect()
      // An error that no sender receives must not end the process as an unhandled rejection.
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

import type { InProcessServer, LocalRequest } from '@csi-sidecars/emulator'
import { type KubeObject, type Status, statusOf } from '@csi-sidecars/kube-types'

/** The events of a watch, as the reader of `KubeClient.watch` gets them. */
export type LocalFrame<T, E> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string; readonly initialEventsEnd: boolean }
  | { readonly type: 'END'; readonly why: 'closed' | 'broken' | 'badFrame' | 'error'; readonly error?: E | undefined }

interface LocalWatchOptions<E> {
  readonly server: InProcessServer
  readonly request: LocalRequest
  readonly errorOf: (status: Status) => E
  /** Delays all changes until `deliver` is called, except for requested initial objects. */
  readonly lags: boolean
}

const INITIAL_EVENTS_END = 'k8s.io/initial-events-end'

/** One watch: the lines of its answer as frames, for a reader that takes them one by one. */
export class LocalWatch<T, E extends Error> {
  readonly path: string
  readonly #errorOf: (status: Status) => E
  readonly #ready: LocalFrame<T, E>[] = []
  readonly #late: LocalFrame<T, E>[] = []
  readonly #leave: () => void
  readonly #begun = Promise.withResolvers<void>()
  #wake = Promise.withResolvers<void>()
  #lags: boolean
  #initial: boolean
  #code = 0
  #text = ''

  constructor({ server, request, errorOf, lags }: LocalWatchOptions<E>) {
    this.path = request.path
    this.#errorOf = errorOf
    this.#lags = lags
    this.#initial = request.path.includes('sendInitialEvents=true')
    this.#leave = server.exchange(request, {
      head: (code) => {
        this.#code = code
        if (code === 200) this.#begun.resolve()
      },
      chunk: (text) => this.#read(text),
      end: (how) => this.#end(how),
    })
  }

  /** Resolves when the server has accepted it; rejects with its refusal. */
  get begun(): Promise<void> {
    return this.#begun.promise
  }

  /** Lets the next frames come that were kept back, or all of them. */
  deliver(count = Number.POSITIVE_INFINITY): void {
    for (const frame of this.#late.splice(0, count)) this.#push(frame)
  }

  /** Whether frames are kept back from now on. */
  set lags(lags: boolean) {
    this.#lags = lags
    if (!lags) this.deliver()
  }

  /** The reader is gone. */
  close(): void {
    this.#leave()
  }

  async *frames(signal: AbortSignal | undefined): AsyncGenerator<LocalFrame<T, E>> {
    const wake = (): void => this.#wake.resolve()
    signal?.addEventListener('abort', wake, { once: true })
    try {
      for (;;) {
        signal?.throwIfAborted()
        const frame = this.#ready.shift()
        if (frame === undefined) {
          this.#wake = Promise.withResolvers()
          await this.#wake.promise
          continue
        }
        yield frame
        if (frame.type === 'END') return
      }
    } finally {
      signal?.removeEventListener('abort', wake)
    }
  }

  #read(text: string): void {
    this.#text += text
    if (this.#code !== 200) return
    const lines = this.#text.split('\n')
    this.#text = lines.pop() ?? ''
    for (const line of lines) this.#arrive(this.#frameOf(line))
  }

  #end(how: 'closed' | 'cut'): void {
    if (this.#code === 200) return this.#arrive({ type: 'END', why: how === 'closed' ? 'closed' : 'broken' })
    this.#begun.reject(this.#errorOf(statusOf(parsed(this.#text)) ?? NO_ANSWER))
  }

  #arrive(frame: LocalFrame<T, E>): void {
    if (this.#lags && !this.#initial && frame.type !== 'END') {
      this.#late.push(frame)
      return
    }
    // No event overtakes a delayed event.
    this.deliver()
    this.#push(frame)
    if (frame.type === 'BOOKMARK' && frame.initialEventsEnd) this.#initial = false
  }

  #push(frame: LocalFrame<T, E>): void {
    this.#ready.push(frame)
    this.#wake.resolve()
  }

  #frameOf(line: string): LocalFrame<T, E> {
    const event = parsed(line)
    switch (event?.type) {
      case 'ADDED':
      case 'MODIFIED':
      case 'DELETED':
        return { type: event.type, object: event.object as T }
      case 'BOOKMARK': {
        const { resourceVersion = '', annotations } = event.object.metadata ?? {}
        return { type: 'BOOKMARK', resourceVersion, initialEventsEnd: annotations?.[INITIAL_EVENTS_END] === 'true' }
      }
      case 'ERROR':
        return { type: 'END', why: 'error', error: this.#errorOf(event.object as Status) }
      default:
        return {
          type: 'END',
          why: 'badFrame',
          error: this.#errorOf({ ...NO_ANSWER, message: `no watch event: ${line}` }),
        }
    }
  }
}

/** The error of a client for a lost connection. Code 0 means no answer. */
export const NO_ANSWER: Status = { kind: 'Status', code: 0, reason: '', message: 'connection reset by peer' }

function parsed(text: string): { readonly type?: unknown; readonly object: KubeObject } | undefined {
  try {
    return JSON.parse(text) as { readonly object: KubeObject }
  } catch {
    // A line that is no JSON, or no event, is a bad frame.
    return undefined
  }
}

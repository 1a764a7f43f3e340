import type { WatchFrame } from '@csi-sidecars/kube-client'
import type { Change, ModelApi, Stored } from './api.ts'

/** One watch. Starts with the present objects or continues from a version; later changes come when the test says so. */
export class Stream {
  readonly plural: string
  readonly #api: ModelApi
  /** Changes of the log that this stream has passed. */
  #position: number
  readonly #frames: WatchFrame<Stored>[] = []
  #wake = Promise.withResolvers<void>()
  #ended = false

  constructor(api: ModelApi, plural: string, from: string | undefined) {
    this.#api = api
    this.plural = plural
    if (from !== undefined) {
      this.#position = api.log.findLastIndex(({ version }) => version <= Number(from)) + 1
      return
    }
    this.#position = api.log.length
    for (const object of api.list({ plural })) this.#push({ type: 'ADDED', object })
    this.#push({ type: 'BOOKMARK', resourceVersion: String(api.version), initialEventsEnd: true })
  }

  /** Delivers the next changes. */
  deliver(count = Number.POSITIVE_INFINITY): void {
    for (let left = count; left > 0 && this.#position < this.#api.log.length; this.#position += 1) {
      const change: Change | undefined = this.#api.log[this.#position]
      if (change?.plural !== this.plural) continue
      this.#push({ type: change.type, object: change.object })
      left -= 1
    }
  }

  /** The server closes it in good order; the reader opens another. */
  end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#push({ type: 'END', why: 'closed' })
  }

  async *frames<T>(signal: AbortSignal | undefined): AsyncGenerator<WatchFrame<T>> {
    const wake = (): void => this.#wake.resolve()
    signal?.addEventListener('abort', wake, { once: true })
    try {
      for (;;) {
        signal?.throwIfAborted()
        const frame = this.#frames.shift()
        if (frame === undefined) {
          this.#wake = Promise.withResolvers()
          await this.#wake.promise
          continue
        }
        yield frame as WatchFrame<T>
        if (frame.type === 'END') return
      }
    } finally {
      this.#ended = true
      signal?.removeEventListener('abort', wake)
    }
  }

  get over(): boolean {
    return this.#ended
  }

  #push(frame: WatchFrame<Stored>): void {
    this.#frames.push(frame)
    this.#wake.resolve()
  }
}

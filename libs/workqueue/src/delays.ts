import { type Cancel, type Clock, Heap, type HeapItem, NOT_IN_HEAP, type TokenBucket } from '@csi-sidecars/base'

interface Waiting extends HeapItem {
  readonly key: string
  dueAt: number
}

/**
 * Passes each key to `dueAt` when its delay is over, with one timer for all keys. If a key is added twice, the earlier
 * time counts. Each key takes a token from the bucket `pace`, so some keys are late if very many are due at once.
 */
export class Delays {
  readonly #clock: Clock
  readonly #onDue: (key: string) => void
  readonly #pace: Pick<TokenBucket, 'reserve' | 'refund'> | undefined
  /** The time when the next token is free. */
  #notBefore = Number.NEGATIVE_INFINITY
  readonly #byKey = new Map<string, Waiting>()
  readonly #heap = new Heap<Waiting>((a, b) => a.dueAt < b.dueAt)
  #cancel: Cancel | undefined
  /** The time for which the timer is set. Infinity if no timer is set. */
  #armedFor = Number.POSITIVE_INFINITY

  constructor(options: { clock: Clock; onDue: (key: string) => void; pace?: TokenBucket | undefined }) {
    this.#clock = options.clock
    this.#onDue = options.onDue
    this.#pace = options.pace
  }

  get size(): number {
    return this.#heap.size
  }

  keys(): Iterable<string> {
    return this.#byKey.keys()
  }

  add(key: string, ms: number): void {
    const dueAt = this.#clock.monotonic() + ms
    const waiting = this.#byKey.get(key)
    if (waiting === undefined) {
      const added: Waiting = { key, dueAt, heapIndex: NOT_IN_HEAP }
      this.#byKey.set(key, added)
      this.#heap.push(added)
    } else if (dueAt < waiting.dueAt) {
      waiting.dueAt = dueAt
      this.#heap.update(waiting)
    }
    this.#arm()
  }

  /** Returns the milliseconds until the key is due. Undefined if it does not wait. */
  dueInMs(key: string): number | undefined {
    const waiting = this.#byKey.get(key)
    return waiting && Math.max(0, waiting.dueAt - this.#clock.monotonic())
  }

  remove(key: string): void {
    const waiting = this.#byKey.get(key)
    if (waiting === undefined) return
    this.#byKey.delete(key)
    this.#heap.remove(waiting)
    this.#arm()
  }

  clear(): void {
    this.#byKey.clear()
    while (this.#heap.pop() !== undefined);
    this.#arm()
  }

  #arm(): void {
    const next = Math.max(this.#notBefore, this.#heap.peek()?.dueAt ?? Number.POSITIVE_INFINITY)
    if (next === this.#armedFor) return
    this.#cancel?.()
    this.#armedFor = next
    this.#cancel =
      next === Number.POSITIVE_INFINITY
        ? undefined
        : this.#clock.schedule(next - this.#clock.monotonic(), () => this.#fire())
  }

  #fire(): void {
    this.#armedFor = Number.POSITIVE_INFINITY
    const now = this.#clock.monotonic()
    for (let next = this.#heap.peek(); next !== undefined && next.dueAt <= now; next = this.#heap.peek()) {
      if (!this.#mayGo(now)) break
      this.#heap.pop()
      this.#byKey.delete(next.key)
      this.#onDue(next.key)
    }
    this.#arm()
  }

  /** Takes a token for a due key. If no token is free, returns false and sets the time of the next try. */
  #mayGo(now: number): boolean {
    const waitMs = this.#pace?.reserve() ?? 0
    if (waitMs === 0) return true
    this.#pace?.refund()
    this.#notBefore = now + waitMs
    return false
  }
}

import { type Cancel, type Clock, Heap, type HeapItem, NOT_IN_HEAP } from '@csi-sidecars/base'

interface Waiting extends HeapItem {
  readonly key: string
  due: number
}

/**
 * Keys that are due later, each told to `due` once it is.
 * A key waits once; of two times the earlier wins. One timer, however many keys.
 */
export class Delays {
  readonly #clock: Clock
  readonly #due: (key: string) => void
  readonly #byKey = new Map<string, Waiting>()
  readonly #heap = new Heap<Waiting>((a, b) => a.due < b.due)
  #cancel: Cancel | undefined
  /** The time the timer is set to; Infinity while there is none. */
  #armedFor = Number.POSITIVE_INFINITY

  constructor(clock: Clock, due: (key: string) => void) {
    this.#clock = clock
    this.#due = due
  }

  get size(): number {
    return this.#heap.size
  }

  keys(): Iterable<string> {
    return this.#byKey.keys()
  }

  add(key: string, ms: number): void {
    const due = this.#clock.monotonic() + ms
    const waiting = this.#byKey.get(key)
    if (waiting === undefined) {
      const added: Waiting = { key, due, heapIndex: NOT_IN_HEAP }
      this.#byKey.set(key, added)
      this.#heap.push(added)
    } else if (due < waiting.due) {
      waiting.due = due
      this.#heap.update(waiting)
    }
    this.#arm()
  }

  /** Milliseconds until the key is due; undefined when it does not wait. */
  dueIn(key: string): number | undefined {
    const waiting = this.#byKey.get(key)
    return waiting && Math.max(0, waiting.due - this.#clock.monotonic())
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
    const next = this.#heap.peek()?.due ?? Number.POSITIVE_INFINITY
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
    for (let next = this.#heap.peek(); next !== undefined && next.due <= now; next = this.#heap.peek()) {
      this.#heap.pop()
      this.#byKey.delete(next.key)
      this.#due(next.key)
    }
    this.#arm()
  }
}

import { invariant } from './errors.ts'

/** An item of a heap. It stores its index in the heap, so that it can be moved or removed without a search. */
export interface HeapItem {
  heapIndex: number
}

/** The index of an item that is in no heap. */
export const NOT_IN_HEAP = -1

/** A binary heap of items that know their index: push, pop, remove and update in O(log n), peek in O(1). */
export class Heap<T extends HeapItem> {
  readonly #items: T[] = []
  readonly #before: (a: T, b: T) => boolean

  constructor(before: (a: T, b: T) => boolean) {
    this.#before = before
  }

  get size(): number {
    return this.#items.length
  }

  peek(): T | undefined {
    return this.#items[0]
  }

  push(item: T): void {
    invariant(item.heapIndex === NOT_IN_HEAP, 'an item is in one heap, once')
    item.heapIndex = this.#items.length
    this.#items.push(item)
    this.#up(item)
  }

  pop(): T | undefined {
    const first = this.#items[0]
    if (first !== undefined) this.remove(first)
    return first
  }

  /** Removes an item at any position. Ignores an item that is not here. */
  remove(item: T): void {
    if (!this.has(item)) return
    const index = item.heapIndex
    const last = this.#items.pop()
    item.heapIndex = NOT_IN_HEAP
    if (last === undefined || last === item) return
    this.#place(last, index)
    this.update(last)
  }

  /** Moves the item to its place after its rank has changed. */
  update(item: T): void {
    if (!this.has(item)) return
    this.#up(item)
    this.#down(item)
  }

  has(item: T): boolean {
    return this.#items[item.heapIndex] === item
  }

  #place(item: T, index: number): void {
    this.#items[index] = item
    item.heapIndex = index
  }

  #up(item: T): void {
    while (item.heapIndex > 0) {
      const parentIndex = (item.heapIndex - 1) >> 1
      const parent = this.#items[parentIndex]
      if (parent === undefined || !this.#before(item, parent)) return
      this.#place(parent, item.heapIndex)
      this.#place(item, parentIndex)
    }
  }

  #down(item: T): void {
    for (;;) {
      const left = this.#items[2 * item.heapIndex + 1]
      const right = this.#items[2 * item.heapIndex + 2]
      const child = right !== undefined && left !== undefined && this.#before(right, left) ? right : left
      if (child === undefined || !this.#before(child, item)) return
      const childIndex = child.heapIndex
      this.#place(child, item.heapIndex)
      this.#place(item, childIndex)
    }
  }
}

import { apply } from '../view/frames.ts'
import type { Beginning, Frame, Item } from '../view/wire.ts'

/** About what a page can be asked to read before it shows anything. */
const MOST_BYTES = 2 * 1024 * 1024

/** All frames, as many as are kept; what older ones have changed is in the items with which it begins. */
export class History {
  readonly #most: number
  readonly #base = new Map<string, Item>()
  #frames: { readonly frame: Frame; readonly bytes: number }[] = []
  /** Of them, those at the beginning that are in the base already. */
  #folded = 0
  #bytes = 0

  constructor(mostBytes = MOST_BYTES) {
    this.#most = mostBytes
  }

  get beginning(): Beginning {
    return { items: [...this.#base.values()], frames: this.#frames.slice(this.#folded).map(({ frame }) => frame) }
  }

  /** `bytes`: about what it costs to keep and to send. */
  add(frame: Frame, bytes: number): void {
    this.#frames.push({ frame, bytes })
    this.#bytes += bytes
    while (this.#bytes > this.#most) this.#fold()
  }

  #fold(): void {
    const oldest = this.#frames[this.#folded]
    if (oldest === undefined) return
    apply(this.#base, oldest.frame)
    this.#bytes -= oldest.bytes
    this.#folded += 1
    // Not one by one: moving the list together costs as much as it is long.
    if (this.#folded * 2 < this.#frames.length) return
    this.#frames = this.#frames.slice(this.#folded)
    this.#folded = 0
  }
}

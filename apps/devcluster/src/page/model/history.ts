import type { Beginning, Frame, Item } from '../view/wire.ts'
import { apply } from '../view/wire.ts'

/** The approximate size of the frames that are kept. A page reads them all before it shows anything. */
const MOST_BYTES = 2 * 1024 * 1024

/** The latest frames, and the items before them. The items include the changes of older frames. */
export class History {
  readonly #most: number
  readonly #base = new Map<string, Item>()
  #frames: { readonly frame: Frame; readonly bytes: number }[] = []
  /** The number of frames at the start of `#frames` whose changes `#base` already contains. */
  #folded = 0
  #bytes = 0

  constructor(mostBytes = MOST_BYTES) {
    this.#most = mostBytes
  }

  get beginning(): Beginning {
    return { items: [...this.#base.values()], frames: this.#frames.slice(this.#folded).map(({ frame }) => frame) }
  }

  /** Adds a frame that has approximately `bytes` bytes. */
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
    // Frames are removed in batches, because each removal copies the list.
    if (this.#folded * 2 < this.#frames.length) return
    this.#frames = this.#frames.slice(this.#folded)
    this.#folded = 0
  }
}

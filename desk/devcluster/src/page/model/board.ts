import type { Clock } from '@csi-sidecars/base'
import { apply, type Beginning, type Frame, type Item, type TimelineEntry } from '../view/wire.ts'

/** The approximate size of a frame without its items. */
const FRAME_BYTES = 200

/** Collects changed items of the page and sends them in frames. Keeps the frames for pages that open later. */
export class Board {
  readonly #clock: Pick<Clock, 'now'>
  readonly #send: (frame: Frame) => void
  readonly #history = new FrameHistory()
  /** The JSON of each item, as it was sent or will be sent in the next frame. */
  readonly #current = new Map<string, string>()
  #set = new Map<string, Item>()
  #gone = new Set<string>()
  #bytes = 0

  constructor(clock: Pick<Clock, 'now'>, send: (frame: Frame) => void) {
    this.#clock = clock
    this.#send = send
  }

  get beginning(): Beginning {
    return this.#history.beginning
  }

  /** Sends the item with the next frame if it differs from the last sent item. */
  send(item: Item): void {
    const text = JSON.stringify(item)
    if (this.#current.get(item.id) === text) return
    this.#current.set(item.id, text)
    this.#gone.delete(item.id)
    this.#set.set(item.id, item)
    this.#bytes += text.length
  }

  remove(id: string): void {
    if (!this.#current.delete(id)) return
    this.#set.delete(id)
    this.#gone.add(id)
  }

  /** Sends an entry of the time line at once, in a frame without items. The collected items follow in a later frame. */
  line(line: TimelineEntry | undefined): void {
    if (line === undefined) return
    const frame = { at: this.#clock.now(), line }
    this.#history.add(frame, FRAME_BYTES)
    this.#send(frame)
  }

  /** Sends the collected items and the entry of the time line in one frame. Without items and entry, sends nothing. */
  frame(line?: TimelineEntry): void {
    if (line === undefined && this.#set.size === 0 && this.#gone.size === 0) return
    const frame: Frame = {
      at: this.#clock.now(),
      ...(line !== undefined && { line }),
      ...(this.#set.size > 0 && { items: [...this.#set.values()] }),
      ...(this.#gone.size > 0 && { gone: [...this.#gone] }),
    }
    this.#history.add(frame, this.#bytes + FRAME_BYTES)
    this.#set = new Map()
    this.#gone = new Set()
    this.#bytes = 0
    this.#send(frame)
  }
}

/** The limit for the approximate size of the kept frames. A new page must read all of them before it shows anything. */
const MAX_BYTES = 2 * 1024 * 1024

/** The latest frames, and the state of all items before them. Older frames are merged into this state. */
export class FrameHistory {
  readonly #most: number
  readonly #base = new Map<string, Item>()
  #frames: { readonly frame: Frame; readonly bytes: number }[] = []
  /** `#base` already contains the changes of this many frames at the start of `#frames`. */
  #folded = 0
  #bytes = 0

  constructor(mostBytes = MAX_BYTES) {
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

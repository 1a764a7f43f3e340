import type { Beginning, Frame, Item } from './wire.ts'
import { apply, takeBack, type Undo } from './wire.ts'

/** `live` shows the present. `stopped` shows one moment. `replaying` shows one moment after another. */
export type Mode = 'live' | 'stopped' | 'replaying'

/** The number of kept frames. The oldest are dropped. */
const MOST_FRAMES = 20_000
/** A replay takes the time that things took, within what an eye can follow. */
const SHORTEST_MS = 250
const LONGEST_MS = 1500

/** The items at any moment: applies the frames in both directions. */
export class Player {
  readonly items = new Map<string, Item>()
  /** The ids of the items that look different since the page was drawn last. */
  readonly changed = new Set<string>()
  readonly #most: number
  #mode: Mode = 'live'
  #frames: Frame[] = []
  /** The number of applied frames. They are the first ones. */
  #undos: Undo[] = []
  /** How many frames are forgotten. */
  #forgotten = 0
  #due = 0

  constructor(mostFrames = MOST_FRAMES) {
    this.#most = mostFrames
  }

  get mode(): Mode {
    return this.#mode
  }

  /** How many of the frames that are known are applied. */
  get at(): number {
    return this.#undos.length
  }

  get length(): number {
    return this.#frames.length
  }

  /** The time of the shown frame. Undefined before the first frame. */
  get time(): number | undefined {
    return this.#frames[this.at - 1]?.at
  }

  /** Starts again: the page was just opened, or the connection was lost for a while. */
  begin({ items, frames }: Beginning): void {
    for (const id of this.items.keys()) this.changed.add(id)
    this.items.clear()
    for (const item of items) this.#set(item)
    this.#mode = 'live'
    this.#forgotten += this.#frames.length
    this.#frames = []
    this.#undos = []
    this.add(frames)
  }

  add(frames: readonly Frame[]): void {
    for (const frame of frames) this.#frames.push(frame)
    if (this.#mode === 'live') this.seek(this.length)
    if (this.length > this.#most * 2) this.live()
    const surplus = this.length - this.#most
    if (surplus < this.#most / 4 || surplus > this.at) return
    this.#frames.splice(0, surplus)
    this.#undos.splice(0, surplus)
    this.#forgotten += surplus
  }

  stop(): void {
    this.#mode = 'stopped'
  }

  live(): void {
    this.#mode = 'live'
    this.seek(this.length)
  }

  /** Continues from the moment that is shown, or from another, at the original pace. */
  replay(from = this.at): void {
    this.seek(from)
    this.#mode = 'replaying'
    this.#due = 0
  }

  /** Goes to the next frame that has a line. */
  step(): void {
    do this.#forward()
    while (this.at < this.length && this.#frames[this.at - 1]?.line === undefined)
  }

  stepBack(): void {
    do this.#back()
    while (this.at > 0 && this.#frames[this.at - 1]?.line === undefined)
  }

  seek(position: number): void {
    const to = Math.min(Math.max(position, 0), this.length)
    while (this.at < to) this.#forward()
    while (this.at > to) this.#back()
  }

  /** Takes the next step of a replay when it is time for it. */
  tick(now: number): void {
    if (this.#mode !== 'replaying' || now < this.#due) return
    if (this.at >= this.length) return this.live()
    const before = this.time ?? 0
    this.step()
    const took = (this.time ?? before) - before
    this.#due = now + Math.min(Math.max(took, SHORTEST_MS), LONGEST_MS)
  }

  /** The last frames that have a line, the newest first, each with a number that stays the same. */
  lines(most: number): readonly (readonly [number: number, frame: Frame])[] {
    const found: [number, Frame][] = []
    for (let index = this.at - 1; index >= 0 && found.length < most; index -= 1) {
      const frame = this.#frames[index]
      if (frame?.line !== undefined) found.push([this.#forgotten + index, frame])
    }
    return found
  }

  /** The position before the last frame in which an item came to be so. */
  before(id: string, isSo: (item: Item) => boolean): number | undefined {
    const index = this.#frames.findLastIndex(({ items = [] }) => items.some((item) => item.id === id && isSo(item)))
    return index < 0 ? undefined : index
  }

  #set(item: Item): void {
    this.items.set(item.id, item)
    this.changed.add(item.id)
  }

  #forward(): void {
    const frame = this.#frames[this.at]
    if (frame === undefined) return
    const undo = apply(this.items, frame)
    this.#undos.push(undo)
    for (const [id] of undo) this.changed.add(id)
  }

  #back(): void {
    const undo = this.#undos.pop()
    if (undo === undefined) return
    takeBack(this.items, undo)
    for (const [id] of undo) this.changed.add(id)
  }
}

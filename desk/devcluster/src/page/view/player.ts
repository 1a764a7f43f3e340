import type { Beginning, Frame, Item } from './wire.ts'
import { apply, takeBack, type Undo } from './wire.ts'

/** The mode of the page. It shows the present (`live`), one past moment (`stopped`), or a replay of past moments. */
export type Mode = 'live' | 'stopped' | 'replaying'

/** The number of frames that the page keeps. The oldest are dropped. */
const MAX_FRAMES = 20_000
/** The limits of the pause between two steps of a replay. Within them the original pace is kept. */
const MIN_PAUSE_MS = 250
const MAX_PAUSE_MS = 1500

/** The items at any moment. The player applies frames to go forward in time, and undoes them to go back. */
export class Player {
  readonly items = new Map<string, Item>()
  /** The ids of the items that look different since the page was drawn last. */
  readonly changed = new Set<string>()
  readonly #most: number
  #mode: Mode = 'live'
  #frames: Frame[] = []
  /** The items that each applied frame has replaced, in the order of the frames. */
  #undos: Undo[] = []
  /** The number of dropped frames. */
  #forgotten = 0
  #dueAt = 0

  constructor(mostFrames = MAX_FRAMES) {
    this.#most = mostFrames
  }

  get mode(): Mode {
    return this.#mode
  }

  /** The number of applied frames, which is the position in time. */
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

  /** Replaces all items and frames when the page has connected or connected again. */
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

  /** Replays the frames at the original pace, from the shown moment or from another position. */
  replay(from = this.at): void {
    this.seek(from)
    this.#mode = 'replaying'
    this.#dueAt = 0
  }

  /** Goes forward to the next frame that has an entry in the time line. */
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

  /** Takes the next step of a replay if its time has come. */
  tick(now: number): void {
    if (this.#mode !== 'replaying' || now < this.#dueAt) return
    if (this.at >= this.length) return this.live()
    const before = this.time ?? 0
    this.step()
    const took = (this.time ?? before) - before
    this.#dueAt = now + Math.min(Math.max(took, MIN_PAUSE_MS), MAX_PAUSE_MS)
  }

  /** Returns the last frames with an entry in the time line, the newest first. The number of a frame never changes. */
  lines(most: number): readonly (readonly [number: number, frame: Frame])[] {
    const found: [number, Frame][] = []
    for (let index = this.at - 1; index >= 0 && found.length < most; index -= 1) {
      const frame = this.#frames[index]
      if (frame?.line !== undefined) found.push([this.#forgotten + index, frame])
    }
    return found
  }

  /** Returns the position before the last frame that gives the item a state for which `isSo` returns true. */
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

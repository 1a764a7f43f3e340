import { byId, fill, Keyed, make, setText } from './dom.ts'
import { tag } from './parts.ts'
import { type Box, type Chip, pictureOf } from './picture.ts'
import type { Player } from './player.ts'

const MOVE_MS = 600
const APPEAR_MS = 300
/** The maximum number of moves that are animated at once. More would be hard to follow and take too much CPU time. */
const MAX_MOVING = 60

/** The picture of nodes, pods and volumes. A pod or volume that gets to another node is animated. */
export class ClusterPicture {
  readonly #player: Player
  readonly #list: Keyed<Box, HTMLLIElement>
  readonly #boxes = new Map<string, BoxElement>()
  #chips = new Map<string, ChipElement>()
  readonly #still = matchMedia('(prefers-reduced-motion: reduce)')

  constructor(player: Player) {
    this.#player = player
    this.#list = new Keyed(byId('boxes'), ({ key }) => {
      const box = new BoxElement()
      this.#boxes.set(key, box)
      return box.element
    })
  }

  draw(changed: ReadonlySet<string>): void {
    if (![...changed].some(isInPicture)) return
    const { boxes, moreNodes } = pictureOf(this.#player.items.values())
    const chips = boxes.flatMap((box) => box.chips)
    const moves = !this.#still.matches && chips.length <= MAX_MOVING
    const places = new Map(moves ? [...this.#chips].map(([key, { element }]) => [key, placeOf(element)]) : [])
    const shownChips = this.#chips
    this.#chips = new Map(chips.map((chip) => [chip.key, shownChips.get(chip.key) ?? new ChipElement(chip)]))
    for (const chip of chips) this.#chips.get(chip.key)?.draw(chip)
    this.#list.show(boxes.map((box) => [box.key, box]))
    for (const box of boxes) this.#boxes.get(box.key)?.draw(box, (key) => this.#chips.get(key)?.element)
    byId('more-nodes').hidden = moreNodes === 0
    setText(byId('more-nodes'), `and ${moreNodes} more nodes`)
    if (moves) for (const [key, { element }] of this.#chips) move(element, places.get(key))
  }
}

function isInPicture(id: string): boolean {
  return ['claim/', 'volume/', 'pod/', 'node/'].some((kind) => id.startsWith(kind))
}

interface Point {
  readonly x: number
  readonly y: number
}

function placeOf(element: HTMLElement): Point {
  const { x, y } = element.getBoundingClientRect()
  return { x: x + scrollX, y: y + scrollY }
}

/** Moves the element from its old position to its new one. A new element fades in. */
function move(element: HTMLElement, from: Point | undefined): void {
  if (from === undefined) {
    element.animate([{ opacity: 0 }, { opacity: 1 }], APPEAR_MS)
    return
  }
  // The running animations end first, because they would distort the measured position.
  const moving = element.getAnimations()
  for (const animation of moving) animation.cancel()
  const to = placeOf(element)
  const [x, y] = [from.x - to.x, from.y - to.y]
  if (Math.abs(x) < 1 && Math.abs(y) < 1) return
  const frames = [{ transform: `translate(${x}px, ${y}px)` }, { transform: 'none' }]
  element.animate(frames, { duration: MOVE_MS, easing: 'ease-in-out' })
}

class BoxElement {
  readonly element = make('li', { class: 'box' })
  readonly #head = make('h3')
  readonly #chips = make('ul', { class: 'chips' })
  readonly #more = make('p', { class: 'quiet' })

  constructor() {
    fill(this.element, this.#head, this.#chips, this.#more)
  }

  draw({ name, notes, chips, more }: Box, elementOf: (key: string) => HTMLElement | undefined): void {
    fill(this.#head, name, ...notes.flatMap((note) => [' ', tag(note)]))
    const desired = chips.flatMap(({ key }) => elementOf(key) ?? [])
    const visibleChips = [...this.#chips.children]
    if (desired.length !== visibleChips.length || desired.some((element, index) => element !== visibleChips[index])) {
      fill(this.#chips, ...desired)
    }
    this.#chips.hidden = chips.length === 0
    this.#more.hidden = chips.length > 0 && more === 0
    setText(this.#more, more > 0 ? `and ${more} more` : 'empty')
  }
}

class ChipElement {
  readonly element: HTMLLIElement
  #drawn = ''

  constructor({ key, kind }: Chip) {
    this.element = make('li', { class: `chip ${kind}`, 'data-chip': key })
  }

  draw({ kind, name, state }: Chip): void {
    if (this.#drawn === `${name} ${state}`) return
    this.#drawn = `${name} ${state}`
    this.element.dataset['state'] = state
    const label = make('span', { class: 'cut', title: name }, make('span', { class: 'quiet' }, kind), ` ${name}`)
    fill(this.element, label, ' ', tag(state))
  }
}

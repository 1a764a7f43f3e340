import { byId, fill, Keyed, make, setText } from './dom.ts'
import { CallDetails, PageEventText, sizeBar, tag, waitText } from './parts.ts'
import { BY_NAME, short } from './picture.ts'
import type { Player } from './player.ts'
import type { ClaimRow, Item, LastCall, LastEvent, NodePlace, Snapshot } from './wire.ts'
import { stillHolds } from './wire.ts'

/** The maximum number of rows in the table. The filter finds the others. */
const MAX_ROWS = 100

type NameOf = (actor: string) => string

/** The table. Each row shows a desired state, the component that must act next, and the actual state. */
export class Table {
  readonly #player: Player
  readonly #nameOf: NameOf
  readonly #filter = byId<HTMLInputElement>('filter')
  readonly #waiting = byId<HTMLInputElement>('only-waiting')
  readonly #rows: Keyed<ClaimRow, HTMLTableRowElement>
  readonly #lines = new WeakMap<Element, RowLine>()
  #sorted: readonly string[] = []
  #narrowed = true

  constructor(player: Player, { nameOf, again }: { nameOf: NameOf; again: () => void }) {
    this.#player = player
    this.#nameOf = nameOf
    this.#rows = new Keyed(byId('rows'), (row) => this.#make(row))
    const narrow = (): void => {
      this.#narrowed = true
      again()
    }
    this.#filter.addEventListener('input', narrow)
    this.#waiting.addEventListener('change', narrow)
  }

  draw(changed: ReadonlySet<string>): void {
    const { items } = this.#player
    const rows = [...changed].filter(isRowId)
    if (rows.length > 0 || this.#narrowed) this.#arrange(rows)
    for (const id of changed) {
      const element = this.#rows.get(ofRow(id))
      if (element !== undefined) this.#lines.get(element)?.draw(id, items, this.#nameOf)
    }
  }

  #arrange(changed: readonly string[]): void {
    this.#narrowed = false
    const { items } = this.#player
    const present = new Set(this.#sorted)
    if (changed.some((id) => present.has(id) !== items.has(id))) {
      this.#sorted = [...items.keys()].filter(isRowId).sort((a, b) => BY_NAME.compare(nameIn(a), nameIn(b)))
    }
    const searched = this.#filter.value.trim().toLowerCase()
    const fitting = this.#sorted.flatMap((id): [string, ClaimRow][] => {
      const row = items.get(id)
      return row?.kind === 'row' && fits(row, searched, this.#waiting.checked) ? [[id, row]] : []
    })
    this.#rows.show(fitting.slice(0, MAX_ROWS))
    byId('none').hidden = this.#sorted.length > 0
    byId('none-fits').hidden = this.#sorted.length === 0 || fitting.length > 0
    byId('more').hidden = fitting.length <= MAX_ROWS
    setText(
      byId('more'),
      `${Math.min(MAX_ROWS, fitting.length)} of ${fitting.length} rows are shown; the filter finds the others.`,
    )
  }

  #make(row: ClaimRow): HTMLTableRowElement {
    const line = new RowLine(row)
    this.#lines.set(line.element, line)
    for (const id of [row.id, `call/${row.id}`, `event/${row.id}`]) line.draw(id, this.#player.items, this.#nameOf)
    return line.element
  }
}

function isRowId(id: string): boolean {
  return id.startsWith('claim/') || id.startsWith('volume/') || id.startsWith('pod/')
}

function nameIn(id: string): string {
  return id.slice(id.indexOf('/') + 1)
}

/** Returns the ID of the row that shows the item. */
function ofRow(id: string): string {
  return id.startsWith('call/') || id.startsWith('event/') ? nameIn(id) : id
}

function fits(row: ClaimRow, searched: string, onlyWaiting: boolean): boolean {
  if (onlyWaiting && row.waits.length === 0) return false
  if (searched === '') return true
  const states = [...row.places.flatMap(({ state, node }) => [state, node]), ...row.waits.map(({ level }) => level)]
  const texts = [row.name, row.volume?.name ?? '', row.claim?.phase ?? '', ...row.pods.map(({ key }) => key), ...states]
  return texts.some((text) => text.toLowerCase().includes(searched))
}

/** One row. Its cells are updated separately, so that opened details and the focus stay. */
class RowLine {
  readonly element: HTMLTableRowElement
  readonly #desired = make('td', { 'data-label': 'Desired state' })
  readonly #waits = make('div')
  readonly #event = new PageEventText()
  readonly #call = new CallDetails()
  readonly #actual = make('td', { 'data-label': 'Actual state' })
  readonly #heading: HTMLTableCellElement

  constructor({ id, name }: ClaimRow) {
    this.#heading = make('th', { class: 'name' }, name)
    this.#heading.scope = 'row'
    const acts = make('td', { 'data-label': 'Next step' }, this.#waits, this.#event.element, this.#call.element)
    this.element = make('tr', { 'data-id': id }, this.#heading, this.#desired, acts, this.#actual)
  }

  draw(id: string, items: ReadonlyMap<string, Item>, nameOf: NameOf): void {
    const item = items.get(id)
    if (id.startsWith('call/')) return this.#call.draw(item as LastCall | undefined)
    if (item?.kind === 'row') this.#drawRow(item, nameOf)
    const row = items.get(ofRow(id))
    const waits = row?.kind === 'row' ? row.waits : []
    const event = items.get(`event/${ofRow(id)}`) as LastEvent | undefined
    const holds = event !== undefined && stillHolds(event, waits)
    this.#event.draw(
      holds ? event : undefined,
      waits.map(({ message }) => message),
    )
  }

  #drawRow(row: ClaimRow, nameOf: NameOf): void {
    const kind = kindOf(row)
    fill(this.#heading, short(row.name), make('small', {}, kind))
    fill(this.#desired, ...wantedOf(row))
    const waits = row.waits.map((wait) => waitText(wait, nameOf))
    fill(this.#waits, ...(waits.length > 0 ? waits : [make('span', { class: 'quiet' }, 'desired state reached')]))
    fill(this.#actual, ...actualOf(row))
  }
}

function wantedOf({ claim, pods, volume }: ClaimRow): readonly HTMLElement[] {
  const elements: HTMLElement[] = []
  if (claim !== undefined) {
    const { size, className, attributesClass, phase, deleting } = claim
    const second = attributesClass === '' ? '' : `, ${attributesClass}`
    elements.push(
      make('div', {}, `${size.text}, ${classText(className)}${second} `, tag(deleting ? 'deleting' : phase)),
    )
  } else if (volume !== undefined) elements.push(make('div', { class: 'quiet' }, 'not claimed'))
  for (const { key, node, phase, deleting } of pods) {
    const where = node === '' ? 'on any node' : `on ${node}`
    elements.push(make('div', {}, `pod ${nameIn(key)} ${where} `, tag(deleting ? 'deleting' : phase)))
  }
  return elements
}

function actualOf({ claim, volume, places, snapshots }: ClaimRow): readonly HTMLElement[] {
  if (volume === undefined) return [make('span', { class: 'quiet' }, 'no volume'), ...places.map(placeOf)]
  const { name, phase, size, capacity, attributesClass } = volume
  const more = capacity === size.text ? '' : `, volume ${capacity}`
  const second = attributesClass === '' ? '' : `, ${attributesClass}`
  const volumeCell = make(
    'div',
    { class: 'volume', title: name },
    make('span', { class: 'cut' }, name),
    ' ',
    tag(phase),
  )
  const bar = make('div', {}, sizeBar(claim?.size ?? size, size), `${more}${second}`)
  return [volumeCell, bar, ...places.map(placeOf), ...snapshots.map(snapshotOf)]
}

function snapshotOf({ name, state, size }: Snapshot): HTMLElement {
  return make('div', { class: 'place' }, `snapshot ${name} `, tag(state), size === '' ? '' : ` ${size}`)
}

function placeOf({ node, state, pods, error }: NodePlace): HTMLElement {
  const users = pods.length === 0 ? '' : ` in ${pods.join(', ')}`
  return make('div', { class: 'place', 'data-node': node }, `${node} `, tag(state, state, error), users)
}

function kindOf({ claim, volume }: ClaimRow): string {
  if (claim) return 'claim'
  return volume ? 'volume without a claim' : 'pod'
}

function classText(className: string | undefined): string {
  if (className === undefined) return 'the default class'
  return className === '' ? 'no class' : `class ${className}`
}

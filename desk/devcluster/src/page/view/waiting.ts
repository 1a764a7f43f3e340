import { byId, clockTime, Keyed, make, setText } from './dom.ts'
import { waitText } from './parts.ts'
import type { Player } from './player.ts'
import type { Actor, ClaimRow, Wait } from './wire.ts'

const MAX_WAITS = 8
/** The order of the levels in the list. Stuck waits come first, whatever their level. */
const ORDER = { trouble: 1, waits: 2, works: 3 } as const

interface ShownWait {
  readonly wait: Wait
  readonly row: string | undefined
}

/** The list of stuck, failing and waiting rows, at the top of the page. */
export class Waiting {
  readonly #player: Player
  readonly #nameOf: (actor: string) => string
  readonly #list: Keyed<ShownWait, HTMLLIElement>

  constructor(player: Player, nameOf: (actor: string) => string) {
    this.#player = player
    this.#nameOf = nameOf
    this.#list = new Keyed(byId('waiting-list'), (each) => this.#make(each))
  }

  draw(): void {
    const rows = [...this.#player.items.values()].flatMap((item): ShownWait[] => {
      if (item.kind === 'row') return ofRow(item)
      return item.kind === 'actor' ? ofActor(item, this.#player.time ?? 0) : []
    })
    rows.sort((a, b) => orderOf(a.wait) - orderOf(b.wait) || a.wait.since - b.wait.since)
    const stuck = rows.filter(({ wait }) => wait.stuck).length
    const troubles = rows.filter(({ wait }) => !wait.stuck && wait.level === 'trouble').length
    this.#list.show(rows.slice(0, MAX_WAITS).map((each) => [keyOf(each), each]))
    byId('waiting').classList.toggle('trouble', stuck + troubles > 0)
    setText(byId('waiting-title'), title({ stuck, failing: troubles, waiting: rows.length - stuck - troubles }))
    byId('waiting-more').hidden = rows.length <= MAX_WAITS
    setText(byId('waiting-more'), `and ${rows.length - MAX_WAITS} more`)
  }

  #make({ wait, row }: ShownWait): HTMLLIElement {
    const since = make('span', { class: 'quiet' }, `since ${clockTime(wait.since)}`)
    const text = waitText(wait, this.#nameOf)
    if (row === undefined) return make('li', {}, text, since)
    const show = make('button', { class: 'link', 'aria-label': `Show ${wait.object} in the table` }, 'show')
    show.type = 'button'
    show.addEventListener('click', () => showRow(row))
    return make('li', {}, text, since, show)
  }
}

function ofRow({ waits, id }: ClaimRow): ShownWait[] {
  return waits.filter(({ level, stuck }) => stuck || level !== 'works').map((wait) => ({ wait, row: id }))
}

function ofActor({ id, why, last }: Actor, now: number): ShownWait[] {
  if (why === undefined) return []
  return [
    {
      wait: { who: id, level: 'trouble', object: 'all callers', why, since: last?.at ?? now, stuck: false },
      row: undefined,
    },
  ]
}

/** Returns the key of a list entry. The key contains the texts of the entry, so that a changed text is drawn again. */
function keyOf({ wait: { who, object, why, message, level, stuck }, row = '' }: ShownWait): string {
  return [row, who, object, why, message, level, stuck].join('\n')
}

function orderOf({ stuck, level }: Wait): number {
  return stuck ? 0 : ORDER[level]
}

/** Returns the title of the list, such as `1 stuck, 2 failing`. */
function title(counts: Readonly<Record<string, number>>): string {
  const counted = Object.entries(counts).filter(([, count]) => count > 0)
  return counted.map(([word, count]) => `${count} ${word}`).join(', ') || 'Nothing is stuck'
}

function showRow(id: string): void {
  const filter = byId<HTMLInputElement>('filter')
  filter.value = id.slice(id.indexOf('/') + 1)
  filter.dispatchEvent(new Event('input'))
  byId('table').scrollIntoView({ block: 'start' })
  filter.focus()
}

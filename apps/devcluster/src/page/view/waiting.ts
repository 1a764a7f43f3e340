import { byId, clockTime, Keyed, make, setText } from './dom.ts'
import { waitText } from './parts.ts'
import type { Player } from './player.ts'
import type { Actor, Row, Wait } from './wire.ts'

const MOST = 8
const ORDER = { trouble: 0, waits: 1, works: 2 } as const

interface Stuck {
  readonly wait: Wait
  readonly row: string | undefined
}

/** What is stuck comes before everything else on the page. */
export class Waiting {
  readonly #player: Player
  readonly #nameOf: (actor: string) => string
  readonly #list: Keyed<Stuck, HTMLLIElement>

  constructor(player: Player, nameOf: (actor: string) => string) {
    this.#player = player
    this.#nameOf = nameOf
    this.#list = new Keyed(byId('waiting-list'), (stuck) => this.#make(stuck))
  }

  draw(): void {
    const stuck = [...this.#player.items.values()].flatMap((item): Stuck[] => {
      if (item.is === 'row') return ofRow(item)
      return item.is === 'actor' ? ofActor(item, this.#player.time ?? 0) : []
    })
    stuck.sort((a, b) => ORDER[a.wait.level] - ORDER[b.wait.level] || a.wait.since - b.wait.since)
    const troubles = stuck.filter(({ wait }) => wait.level === 'trouble').length
    this.#list.show(stuck.slice(0, MOST).map((each) => [keyOf(each), each]))
    byId('waiting').classList.toggle('trouble', troubles > 0)
    setText(byId('waiting-title'), title(troubles, stuck.length - troubles))
    byId('waiting-more').hidden = stuck.length <= MOST
    setText(byId('waiting-more'), `and ${stuck.length - MOST} more`)
  }

  #make({ wait, row }: Stuck): HTMLLIElement {
    const since = make('span', { class: 'quiet' }, `since ${clockTime(wait.since)}`)
    const text = waitText(wait, this.#nameOf)
    if (row === undefined) return make('li', {}, text, since)
    const show = make('button', { class: 'link', 'aria-label': `Show ${wait.about} in the table` }, 'show')
    show.type = 'button'
    show.addEventListener('click', () => showRow(row))
    return make('li', {}, text, since, show)
  }
}

function ofRow({ waits, id }: Row): Stuck[] {
  return waits.filter(({ level }) => level !== 'works').map((wait) => ({ wait, row: id }))
}

function ofActor({ id, why, last }: Actor, now: number): Stuck[] {
  if (why === undefined) return []
  return [
    {
      wait: { who: id, level: 'trouble', about: 'all its callers', why, since: last?.at ?? now },
      row: undefined,
    },
  ]
}

/** The texts are part of the key: those that change are drawn again. */
function keyOf({ wait: { who, about, why, message, level }, row = '' }: Stuck): string {
  return [row, who, about, why, message, level].join('\n')
}

function title(troubles: number, waits: number): string {
  if (troubles + waits === 0) return 'Nothing is stuck'
  const stuck = troubles === 0 ? '' : `${troubles} stuck`
  const more = waits === 0 ? '' : `${waits} waiting`
  return [stuck, more].filter((text) => text !== '').join(', ')
}

function showRow(id: string): void {
  const filter = byId<HTMLInputElement>('filter')
  filter.value = id.slice(id.indexOf('/') + 1)
  filter.dispatchEvent(new Event('input'))
  byId('table').scrollIntoView({ block: 'start' })
  filter.focus()
}

import { byId, clockTime, counted, fill, Keyed, make } from './dom.ts'
import { CallDetails, PageEventText, tag } from './parts.ts'
import type { Player } from './player.ts'
import type { Actor, LastCall, LastEvent } from './wire.ts'

/** The number of components that are always shown. Further components are hidden while they are idle. */
const MAX_IDLE = 16

/** The cards of the components, each with its work, its last event and its last CSI call. */
export class Actors {
  readonly #player: Player
  readonly #cards: Keyed<Actor, HTMLElement>
  readonly #drawn = new Map<string, Card>()

  constructor(player: Player) {
    this.#player = player
    this.#cards = new Keyed(byId('actors'), ({ id }) => this.#card(id).element)
  }

  readonly nameOf = (id: string): string => {
    const actor = this.#player.items.get(id)
    return actor?.kind === 'actor' ? actor.name : id
  }

  draw(changed: ReadonlySet<string>): void {
    const { items } = this.#player
    const all = [...items.values()].filter((item) => item.kind === 'actor').filter(({ id }) => id !== 'you')
    const visibleActors = all.filter((actor, index) => index < MAX_IDLE || actor.state !== 'idle')
    this.#cards.show(visibleActors.map((actor) => [actor.id, actor]))
    for (const id of changed) {
      const of = id.replace(/^(call|event)\//, '')
      this.#drawn.get(of)?.draw(this.#player, of)
    }
  }

  #card(id: string): Card {
    const card = new Card()
    card.draw(this.#player, id)
    this.#drawn.set(id, card)
    return card
  }
}

class Card {
  readonly element = make('li', { class: 'actor' })
  readonly #head = make('div')
  readonly #event = new PageEventText()
  readonly #call = new CallDetails()

  constructor() {
    fill(this.element, this.#head, this.#event.element, this.#call.element)
  }

  draw({ items }: Player, id: string): void {
    const actor = items.get(id)
    if (actor?.kind !== 'actor') return
    const { name, does, state, last, open, turns, troubles, why } = actor
    const isFailing = state === 'fails' || state === 'away'
    const details = [
      open > 0 && `${counted(open, 'call')} under way`,
      turns > 0 && `${counted(turns, 'step')} to take`,
      troubles > 0 && `${troubles} in trouble`,
    ]
    fill(
      this.#head,
      make('h3', {}, name, ' ', tag(state)),
      make(
        'p',
        { class: 'quiet' },
        `${does}${details
          .filter((text) => text !== false)
          .map((text) => `; ${text}`)
          .join('')}`,
      ),
      why !== undefined && make('p', { class: 'bad' }, why),
      last !== undefined &&
        make('p', { class: last.bad && isFailing ? 'bad last' : 'last' }, `${clockTime(last.at)} ${last.text}`),
    )
    const event = items.get(`event/${id}`) as LastEvent | undefined
    // The event is hidden if the line above shows the same text, or if it warns of a failure that is over.
    const isOver = event?.line.bad === true && !isFailing
    this.#event.draw(isOver || (event !== undefined && last?.text.endsWith(event.line.text)) ? undefined : event)
    this.#call.draw(items.get(`call/${id}`) as LastCall | undefined)
  }
}

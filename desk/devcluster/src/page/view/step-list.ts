import { byId, fill, Keyed, make } from './dom.ts'
import { tag } from './parts.ts'
import type { Player } from './player.ts'
import type { Item, StepItem } from './wire.ts'

interface StoryOptions {
  readonly send: (action: string, values: Readonly<Record<string, string>>) => void
  readonly again: () => void
}

/** The steps of the demo, each with a button that runs it and a button that replays it. */
export class StepList {
  readonly #player: Player
  readonly #options: StoryOptions
  readonly #list: Keyed<StepItem, HTMLLIElement>
  readonly #drawn = new Map<string, StepEntry>()
  /** The button that runs the whole demo. It is shown while the table is empty. */
  readonly #runAll = byId<HTMLButtonElement>('run-story')
  #last: number | undefined

  constructor(player: Player, options: StoryOptions) {
    this.#player = player
    this.#options = options
    this.#runAll.addEventListener('click', () => {
      if (this.#last !== undefined) options.send('runStep', { number: String(this.#last) })
    })
    this.#list = new Keyed(byId('steps'), (step) => this.#make(step))
  }

  draw(changed: ReadonlySet<string>): void {
    if (![...changed].some((id) => id.startsWith('step/') || id === 'abilities')) return
    const steps = [...this.#player.items.values()].filter((item) => item.kind === 'step')
    steps.sort((a, b) => a.number - b.number)
    byId('story').hidden = steps.length === 0
    this.#list.show(steps.map((step) => [step.id, step]))
    const abilities = this.#player.items.get('abilities')
    const canRun = abilities?.kind === 'abilities' && abilities.actions.includes('runStep')
    const isRunning = steps.some(({ state }) => state === 'running')
    for (const step of steps) this.#drawn.get(step.id)?.draw(step, canRun && !isRunning)
    this.#last = steps.findLast(({ state }) => state !== 'skipped')?.number
    this.#runAll.hidden = !canRun || this.#last === undefined
    this.#runAll.disabled = isRunning
  }

  #make({ id, number }: StepItem): HTMLLIElement {
    const entry = new StepEntry({
      run: () => this.#options.send('runStep', { number: String(number) }),
      show: () => {
        const from = this.#player.before(id, isBeginning)
        if (from !== undefined) this.#player.replay(from)
        this.#options.again()
      },
    })
    this.#drawn.set(id, entry)
    return entry.element
  }
}

/** Reports whether the item is a demo step that has just started, so that nothing has happened in it yet. */
function isBeginning(item: Item): boolean {
  return item.kind === 'step' && item.state === 'running' && item.lines.length === 0
}

class StepEntry {
  readonly element = make('li', { class: 'step' })
  readonly #head = make('div', { class: 'step-head' })
  readonly #lines = make('ol', { class: 'step-lines' })
  readonly #details = make('details', {}, make('summary', {}, 'what happened'), this.#lines)
  readonly #run = make('button', {}, 'Run')
  readonly #show = make('button', {}, 'Watch again')

  constructor({ run, show }: { run: () => void; show: () => void }) {
    this.#run.addEventListener('click', run)
    this.#show.addEventListener('click', show)
    fill(this.element, this.#head, make('div', { class: 'buttons' }, this.#run, this.#show), this.#details)
  }

  draw({ number, title, state, why, lines }: StepItem, canRun: boolean): void {
    const because =
      why === undefined ? undefined : make('span', { class: state === 'failed' ? 'bad' : 'quiet' }, ` ${why}`)
    fill(this.#head, make('strong', {}, `${number}. ${title}`), ' ', tag(state), because)
    this.#run.hidden = state === 'skipped'
    this.#run.disabled = !canRun
    this.#run.setAttribute('aria-label', `Run step ${number}: ${title}`)
    this.#show.hidden = state !== 'succeeded' && state !== 'failed'
    this.#show.setAttribute('aria-label', `Watch again: step ${number}`)
    this.#details.hidden = lines.length === 0
    fill(
      this.#lines,
      ...lines.map(({ who, text, afterMs }) =>
        make('li', {}, `+${afterMs} ms `, make('span', { class: 'who' }, who), ` ${text}`),
      ),
    )
  }
}

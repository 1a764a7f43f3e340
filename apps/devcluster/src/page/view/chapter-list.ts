import { byId, fill, Keyed, make } from './dom.ts'
import { tag } from './parts.ts'
import type { Player } from './player.ts'
import type { Chapter, Item } from './wire.ts'

interface StoryOptions {
  readonly send: (deed: string, values: Readonly<Record<string, string>>) => void
  readonly again: () => void
}

/** The chapters of the story, each with a button that tells it, and one that shows again how it was. */
export class ChapterList {
  readonly #player: Player
  readonly #options: StoryOptions
  readonly #list: Keyed<Chapter, HTMLLIElement>
  readonly #drawn = new Map<string, ChapterEntry>()

  constructor(player: Player, options: StoryOptions) {
    this.#player = player
    this.#options = options
    this.#list = new Keyed(byId('chapters'), (chapter) => this.#make(chapter))
  }

  draw(changed: ReadonlySet<string>): void {
    if (![...changed].some((id) => id.startsWith('chapter/') || id === 'abilities')) return
    const chapters = [...this.#player.items.values()].filter((item) => item.is === 'chapter')
    chapters.sort((a, b) => a.number - b.number)
    byId('story').hidden = chapters.length === 0
    this.#list.show(chapters.map((chapter) => [chapter.id, chapter]))
    const abilities = this.#player.items.get('abilities')
    const canTell = abilities?.is === 'abilities' && abilities.deeds.includes('tellChapter')
    const isTelling = chapters.some(({ state }) => state === 'now')
    for (const chapter of chapters) this.#drawn.get(chapter.id)?.draw(chapter, canTell && !isTelling)
  }

  #make({ id, number }: Chapter): HTMLLIElement {
    const entry = new ChapterEntry({
      tell: () => this.#options.send('tellChapter', { number: String(number) }),
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

/** The frame that has begun the chapter: the later ones add lines to it. */
function isBeginning(item: Item): boolean {
  return item.is === 'chapter' && item.state === 'now' && item.lines.length === 0
}

const MARKS: Readonly<Record<Chapter['state'], string>> = {
  'to come': 'to come',
  now: 'now',
  true: 'came true',
  untrue: 'did not come true',
  'left out': 'left out',
}

class ChapterEntry {
  readonly element = make('li', { class: 'chapter' })
  readonly #head = make('div', { class: 'chapter-head' })
  readonly #lines = make('ol', { class: 'chapter-lines' })
  readonly #details = make('details', {}, make('summary', {}, 'what happened'), this.#lines)
  readonly #tell = make('button', {}, 'Tell')
  readonly #show = make('button', {}, 'Watch again')

  constructor({ tell, show }: { tell: () => void; show: () => void }) {
    this.#tell.addEventListener('click', tell)
    this.#show.addEventListener('click', show)
    fill(this.element, this.#head, make('div', { class: 'buttons' }, this.#tell, this.#show), this.#details)
  }

  draw({ number, title, state, why, lines }: Chapter, canTell: boolean): void {
    const because =
      why === undefined ? undefined : make('span', { class: state === 'untrue' ? 'bad' : 'quiet' }, ` ${why}`)
    fill(this.#head, make('strong', {}, `${number}. ${title}`), ' ', tag(state, MARKS[state]), because)
    this.#tell.hidden = state === 'left out'
    this.#tell.disabled = !canTell
    this.#tell.setAttribute('aria-label', `Tell chapter ${number}: ${title}`)
    this.#show.hidden = state !== 'true' && state !== 'untrue'
    this.#show.setAttribute('aria-label', `Watch chapter ${number} again`)
    this.#details.hidden = lines.length === 0
    fill(
      this.#lines,
      ...lines.map(({ who, text, afterMs }) =>
        make('li', {}, `+${afterMs} ms `, make('span', { class: 'who' }, who), ` ${text}`),
      ),
    )
  }
}

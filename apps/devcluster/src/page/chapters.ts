import type { Teller } from '../story/play.ts'
import type { Stage } from '../story/stage.ts'
import type { Chapter, ChapterLine, Item } from './view/wire.ts'

/** The chapters as they stand on the page, where they stay when the story is over. */
export class Chapters implements Teller {
  readonly #put: (...items: readonly Item[]) => void
  readonly #chapters: Chapter[]

  constructor({ chapters, leftOut }: Pick<Stage, 'chapters' | 'leftOut'>, put: (...items: readonly Item[]) => void) {
    this.#put = put
    const told = chapters.map(({ title }, index) => chapterItem(index + 1, title))
    const others = leftOut.map(({ title, why }, index) => ({
      ...chapterItem(chapters.length + index + 1, title),
      state: 'left out' as const,
      why,
    }))
    this.#chapters = [...told, ...others]
    put(...this.#chapters)
  }

  /** Those that come after it have yet to come again. */
  chapter(number: number, title: string): void {
    const now: Chapter = { ...chapterItem(number, title), state: 'now' }
    const later = this.#chapters.filter((each) => each.number > number && each.state !== 'left out')
    this.#change(now, ...later.map((each) => chapterItem(each.number, each.title)))
  }

  line({ who, text }: Pick<ChapterLine, 'who' | 'text'>, afterMs: number): void {
    const now = this.#chapters.find(({ state }) => state === 'now')
    if (now === undefined) return
    this.#change({ ...now, lines: [...now.lines, { who, text, afterMs: Math.round(afterMs) }] })
  }

  ended(number: number, untrue?: string): void {
    const chapter = this.#chapters[number - 1]
    if (chapter === undefined) return
    if (untrue === undefined) this.#change({ ...chapter, state: 'true' })
    else this.#change({ ...chapter, state: 'untrue', why: `${untrue} did not happen` })
  }

  #change(...chapters: readonly Chapter[]): void {
    for (const chapter of chapters) this.#chapters[chapter.number - 1] = chapter
    this.#put(...chapters)
  }
}

function chapterItem(number: number, title: string): Chapter {
  return { is: 'chapter', id: `chapter/${number}`, number, title, state: 'to come', lines: [] }
}

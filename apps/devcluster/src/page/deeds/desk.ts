import { type Clock, deadline, messageOf } from '@csi-sidecars/base'
import type { Devcluster } from '../../cluster/devcluster.ts'
import type { Ending } from '../../story/play.ts'
import type { Stage } from '../../story/stage.ts'
import type { DeedAnswer } from '../server.ts'
import type { DeedName } from '../view/deed-table.ts'
import type { Item, TimelineEntry } from '../view/wire.ts'
import { parseDeed } from './parse.ts'
import { type DeedParts, deedsOf, perform } from './perform.ts'

export interface DeskOptions {
  readonly cluster: Devcluster
  readonly clock: Clock
  readonly story: Stage | undefined
  readonly onlyLooking: boolean
  readonly say: (line: TimelineEntry | undefined, ...items: readonly Item[]) => void
}

/** How long the cluster may take to do what somebody asks for on the page. */
const DEED_MS = 15_000

/** Takes what somebody asks for on the page, and answers with what became of it. */
export class DeedDesk {
  readonly #options: DeskOptions
  readonly #signal: AbortSignal
  readonly #deeds: readonly DeedName[]
  readonly #parts: DeedParts
  #leave = (): void => undefined

  constructor(options: DeskOptions, signal: AbortSignal) {
    const { cluster, clock, story, onlyLooking } = options
    this.#options = options
    this.#signal = signal
    this.#parts = {
      ...{ cluster, clock },
      tellTo: story && ((chapter) => this.#tell(story, chapter)),
      onTrouble: (text) => this.#trouble(text),
    }
    this.#deeds = onlyLooking ? [] : deedsOf(this.#parts)
  }

  /** Says what can be done, and to what. */
  open(): void {
    const { cluster, say } = this.#options
    const { caches, driver } = cluster
    const tell = (): void => {
      const classes = [...caches.classes.store.values()].map(({ key }) => key).sort()
      say(undefined, { is: 'abilities', id: 'abilities', deeds: this.#deeds, driver: driver.name, classes })
    }
    this.#leave = caches.classes.subscribe(tell)
    tell()
  }

  close(): void {
    this.#leave()
  }

  async take(body: unknown): Promise<DeedAnswer> {
    using limit = deadline(this.#options.clock, DEED_MS, 'what was asked for', this.#signal)
    try {
      const deed = parseDeed(body)
      if (!this.#deeds.includes(deed.name)) throw new Error('This cannot be done here.')
      const text = await perform(deed, this.#parts, limit.signal)
      this.#options.say({ who: 'you', text })
      return { done: true, text }
    } catch (error) {
      return { done: false, text: messageOf(error) }
    }
  }

  /** Refuses at once while the story is being told; what becomes of it is told as it happens. */
  #tell(story: Stage, chapter: number): void {
    story.check(chapter)
    story.playTo(chapter, this.#signal).then(
      (ending) => this.#ended(ending),
      (error: unknown) => this.#signal.aborted || this.#trouble(`The story broke off: ${messageOf(error)}`),
    )
  }

  #ended(ending: Ending): void {
    if (ending.is === 'untrue') this.#trouble(`Not true: ${ending.what}, in the chapter "${ending.chapter}"`)
  }

  #trouble(text: string): void {
    this.#options.say({ who: 'you', text, bad: true })
  }
}

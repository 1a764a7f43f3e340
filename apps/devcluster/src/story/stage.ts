import { abortable, type Clock, deadline } from '@csi-sidecars/base'
import { isNotFound } from '@csi-sidecars/kube-client'
import { PERSISTENT_VOLUME_CLAIMS, PODS } from '@csi-sidecars/kube-types'
import { PODS_BY_CLAIM, VOLUMES_BY_CLAIM } from '../caches/caches.ts'
import type { Devcluster } from '../cluster/devcluster.ts'
import { watchHappenings } from './happening.ts'
import { CLAIM, NAMES } from './objects.ts'
import { type Chapter, type Ending, play, type Teller } from './play.ts'
import { type LeftOut, PODS_OF_STORY, storyOf } from './story.ts'

export interface StageOptions {
  readonly cluster: Pick<Devcluster, 'client' | 'caches' | 'driver' | 'calls' | 'nodeNames'>
  readonly clock: Clock
  /** How long one chapter may take. */
  readonly chapterMs: number
  /** To wait before each. */
  readonly pauseMs: number
}

/** The story where it is played: from its beginning to its end, or as far as somebody wants to see it, again and again. */
export class Stage {
  readonly #options: StageOptions
  readonly #tellers: Teller[] = []
  readonly chapters: readonly Chapter[]
  readonly leftOut: readonly LeftOut[]
  /** How many chapters of this telling are over. */
  #told = 0
  #isTelling = false

  constructor(options: StageOptions) {
    this.#options = options
    const { chapters, leftOut } = storyOf(options.cluster, options.cluster.nodeNames)
    this.chapters = chapters
    this.leftOut = leftOut
  }

  tellTo(teller: Teller): void {
    this.#tellers.push(teller)
  }

  async playAll(signal: AbortSignal): Promise<Ending> {
    this.check(1)
    return await this.#alone(() => this.#play(this.chapters.length, signal))
  }

  /** Throws if that chapter cannot be played now. */
  check(chapter: number): void {
    if (!(chapter >= 1 && chapter <= this.chapters.length)) throw new Error(`There is no chapter ${chapter}.`)
    if (this.#isTelling) throw new Error('The story is being told.')
  }

  /** Plays what is missing up to a chapter; the story begins again if that has been told. */
  async playTo(chapter: number, signal: AbortSignal): Promise<Ending> {
    this.check(chapter)
    return await this.#alone(async () => {
      if (chapter <= this.#told) {
        await this.#clear(signal)
        this.#told = 0
      }
      return await this.#play(chapter, signal)
    })
  }

  async #alone(work: () => Promise<Ending>): Promise<Ending> {
    this.#isTelling = true
    try {
      return await work()
    } finally {
      this.#isTelling = false
    }
  }

  async #play(last: number, signal: AbortSignal): Promise<Ending> {
    const { cluster, clock, chapterMs, pauseMs } = this.#options
    const { caches, calls } = cluster
    const chapters = this.chapters.slice(this.#told, last)
    const firstNumber = this.#told + 1
    const watch = (listener: Parameters<typeof watchHappenings>[2]) => watchHappenings(caches, calls, listener)
    // Whatever it breaks off in is begun again with a clean stage.
    this.#told = this.chapters.length
    const ending = await play({ chapters, firstNumber, teller: this.#all(), clock, watch, chapterMs, pauseMs }, signal)
    if (ending.is === 'true') this.#told = last
    return ending
  }

  #all(): Teller {
    const tellers = this.#tellers
    return {
      chapter: (number, title) => tellers.forEach((each) => void each.chapter(number, title)),
      line: (line, afterMs) => tellers.forEach((each) => void each.line(line, afterMs)),
      ended: (number, untrue) => tellers.forEach((each) => void each.ended(number, untrue)),
    }
  }

  /** Takes away what an earlier telling has left. */
  async #clear(signal: AbortSignal): Promise<void> {
    const { cluster, clock, chapterMs } = this.#options
    const { client, caches } = cluster
    using limit = deadline(clock, chapterMs, 'clearing the stage', signal)
    const gone = async (deletion: Promise<unknown>): Promise<void> => {
      await deletion.catch((error: unknown) => {
        if (!isNotFound(error)) throw error
      })
    }
    const { namespace, claim } = NAMES
    // Also those that somebody else has made for the story's claim, which would keep it for ever.
    const users = caches.pods.store.byIndex(PODS_BY_CLAIM, CLAIM).map(({ name }) => name)
    for (const name of new Set([...PODS_OF_STORY, ...users]))
      await gone(client.delete(PODS, { namespace, name }, { signal: limit.signal }))
    await gone(client.delete(PERSISTENT_VOLUME_CLAIMS, { namespace, name: claim }, { signal: limit.signal }))
    const cleared = Promise.withResolvers<void>()
    const look = (): void => {
      const claims = caches.claims.store.get(CLAIM) === undefined
      const pods = caches.pods.store.byIndex(PODS_BY_CLAIM, CLAIM).length === 0
      if (claims && pods && caches.volumes.store.byIndex(VOLUMES_BY_CLAIM, CLAIM).length === 0) cleared.resolve()
    }
    const leave = watchHappenings(caches, cluster.calls, look)
    try {
      look()
      await abortable(cleared.promise, limit.signal)
    } finally {
      leave()
    }
  }
}

import type { Clock } from '@csi-sidecars/base'
import type { Logger } from '@csi-sidecars/telemetry'
import type { ChaosEvent } from '../chaos/run.ts'
import type { ChaosShow } from '../chaos/seeds.ts'
import type { Devcluster } from '../cluster/devcluster.ts'
import { type Page, startPage } from './page.ts'
import type { Chaos, Message } from './view/wire.ts'

export interface ChaosPageOptions {
  readonly clock: Clock
  readonly log: Logger
  /** 0: any. */
  readonly port: number
  /** Called once: the pages of all seeds have this address. */
  readonly onUrl: (url: string) => void
}

/** As many actions as one sees at a time. */
const MOST_SAID = 30

/** A page for each seed's cluster, one after the other at the same place. */
export function chaosPages(options: ChaosPageOptions): (cluster: Devcluster, seed: number) => Promise<ChaosShow> {
  let { port } = options
  let isAnnounced = false
  return async (cluster, seed) => {
    const { clock, log, onUrl } = options
    const page = await startPage({ cluster, clock, log, port, onlyLooking: true })
    if (!isAnnounced) onUrl(page.url)
    isAnnounced = true
    port = Number(new URL(page.url).port)
    return new ChaosPage(page, seed, clock)
  }
}

class ChaosPage implements ChaosShow {
  readonly #page: Page
  readonly #clock: Clock
  #chaos: Chaos

  constructor(page: Page, seed: number, clock: Clock) {
    this.#page = page
    this.#clock = clock
    this.#chaos = { is: 'chaos', id: 'chaos', seed, actions: 0, last: [], violations: [], state: 'breaks' }
    page.say(undefined, this.#chaos)
  }

  report(news: ChaosEvent): void {
    switch (news.is) {
      case 'action':
        return this.#act(actionText(news.action))
      case 'violation':
        return this.#say(news.text, { violations: [...this.#chaos.violations, news.text] })
      case 'calm':
        return this.#say('nothing is broken any more', { state: 'heals' })
    }
  }

  end(violations: readonly string[]): void {
    const state = violations.length === 0 ? 'held' : 'violated'
    this.#say(violations.length === 0 ? 'all held' : 'something did not hold', { state, violations })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#page[Symbol.asyncDispose]()
  }

  #act(text: string): void {
    const { actions, last } = this.#chaos
    const said: Message = { at: this.#clock.now(), text }
    this.#say(text, { actions: actions + 1, last: [said, ...last].slice(0, MOST_SAID) })
  }

  #say(text: string, change: Partial<Chaos>): void {
    this.#chaos = { ...this.#chaos, ...change }
    this.#page.say({ who: 'you', text: `chaos: ${text}`, ...(change.violations?.length && { bad: true }) }, this.#chaos)
  }
}

/** `crashDriver, forMs 5`: the fields of an action as text. */
function actionText({ do: what, ...fields }: Extract<ChaosEvent, { is: 'action' }>['action']): string {
  const values = Object.entries(fields).map(
    ([name, value]) => `${name} ${typeof value === 'object' ? JSON.stringify(value) : value}`,
  )
  return [what, ...values].join(', ')
}

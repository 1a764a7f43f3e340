import type { FakeClock } from '@csi-sidecars/base/testing'
import { type Driver, type DriverEvent, driverCapabilities } from '@csi-sidecars/csi'
import { type Election, LeaderTerm } from '@csi-sidecars/leader-election'

/** A driver whose connection the test ends and restores. */
export class ScriptedDriver implements Driver {
  readonly name = 'csi.example.com'
  readonly capabilities = driverCapabilities({ services: new Set(), volumeExpansion: new Set() })
  readonly failure = new Promise<Error>(() => {})
  readonly #listeners = new Set<(event: DriverEvent) => void>()
  state: Driver['state'] = 'ready'
  lostForMs = 0

  call(): Promise<never> {
    return Promise.reject(new Error('not served'))
  }

  subscribe(listener: (event: DriverEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  become(event: DriverEvent): void {
    this.state = event.type
    for (const listener of this.#listeners) listener(event)
  }

  close(): void {
    this.state = 'closed'
  }
}

/** An elector that leads at once, until the test ends the term. */
export class ScriptedElector {
  readonly clock: FakeClock
  readonly leaseRead = Promise.withResolvers<void>()
  readonly firstRead = this.leaseRead.promise
  term: LeaderTerm | undefined
  terms = 0

  constructor(clock: FakeClock) {
    this.clock = clock
  }

  async run({ lead, whenEligible, stop }: Election): Promise<'stopped' | 'lost'> {
    for (;;) {
      await whenEligible(stop).catch(() => {})
      if (stop.aborted) return 'stopped'
      const now = this.clock.monotonic()
      const term = new LeaderTerm({ clock: this.clock, renewDeadlineMs: 1e9, sentAt: now, soleSince: now })
      this.term = term
      this.terms += 1
      await lead(term)
      if (term.signal.aborted) return 'lost'
      term.end('released')
      if (stop.aborted) return 'stopped'
    }
  }
}

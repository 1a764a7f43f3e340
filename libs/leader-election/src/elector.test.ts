import { getEventListeners } from 'node:events'
import { FakeClock } from '@csi-sidecars/base'
import type { Lease } from '@csi-sidecars/kube-types'
import { Metrics, recordingLogger } from '@csi-sidecars/telemetry'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { Elector } from './elector.ts'
import type { Term } from './term.ts'
import { LeaseServer } from './testing/lease-server.ts'

const timings = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 5_000 }

/** One process that stands for election: what it did, and the handles to stop it. */
class Candidate {
  readonly log = recordingLogger()
  readonly metrics = new Metrics()
  readonly announced: string[] = []
  readonly announcedOn: (Lease | undefined)[] = []
  readonly terms: Term[] = []
  readonly elector: Elector
  readonly #stop = new AbortController()
  #endLead = Promise.withResolvers<void>()
  outcome: 'stopped' | 'lost' | undefined

  constructor(server: LeaseServer, clock: FakeClock, identity: string) {
    this.elector = new Elector({
      client: server.client,
      lease: { namespace: 'ns', name: 'lease', labels: {} },
      identity,
      timings,
      clock,
      log: this.log,
      metrics: this.metrics,
      announce: (message, lease) => {
        this.announced.push(message)
        this.announcedOn.push(lease)
      },
    })
  }

  /** How many wait for it to be stopped. */
  get waiting(): number {
    return getEventListeners(this.#stop.signal, 'abort').length
  }

  get leads(): boolean {
    return this.terms.at(-1)?.held() === true
  }

  stand(eligible: (signal: AbortSignal) => Promise<void> = async () => {}): Promise<void> {
    const lead = async (term: Term): Promise<void> => {
      this.terms.push(term)
      this.#endLead = Promise.withResolvers()
      term.signal.addEventListener('abort', () => this.#endLead.resolve())
      await this.#endLead.promise
    }
    return this.elector.run({ lead, eligible, stop: this.#stop.signal }).then((outcome) => {
      this.outcome = outcome
    })
  }

  /** What runs has come to its end. */
  drained(): void {
    this.#endLead.resolve()
  }

  stop(): void {
    this.#stop.abort(new Error('stop'))
  }
}

let clock: FakeClock
let server: LeaseServer
beforeEach(() => {
  clock = new FakeClock()
  server = new LeaseServer()
})

describe('what earlier leaders have done', () => {
  it('was done before the look that found the lease free', async () => {
    server.hold('gone', 15)
    const b = new Candidate(server, clock, 'b')
    void b.stand()
    await clock.advance(20_000)
    expect(b.terms[0]?.soleSince).toBe(15_000)
  })

  it.each([
    { how: 'can be read once the lease was looked at', failing: false },
    { how: 'is read in any case when the lease cannot be', failing: true },
  ])('$how', async ({ failing }) => {
    server.hold('other', 15)
    server.failing = failing
    const b = new Candidate(server, clock, 'b')
    let looked = false
    void b.elector.looked.then(() => {
      looked = true
    })
    await clock.settle()
    expect(looked).toBe(false)
    void b.stand()
    await clock.settle()
    expect(looked).toBe(true)
  })
})

describe('acquiring', () => {
  it('creates the lease and leads', async () => {
    const a = new Candidate(server, clock, 'a')
    void a.stand()
    await clock.settle()
    expect(a.leads).toBe(true)
    expect(server.lease?.spec).toMatchObject({ holderIdentity: 'a', leaseTransitions: 0 })
    expect(a.announced).toEqual(['a became leader'])
    expect(await a.metrics.text()).toContain('leader_election_master_status{name=""} 1')
  })

  it('takes an expired lease when it expires, not a retry period later', async () => {
    server.hold('gone', 15)
    const b = new Candidate(server, clock, 'b')
    void b.stand()
    await clock.advance(14_999)
    expect(b.leads).toBe(false)
    await clock.advance(1)
    expect(b.leads).toBe(true)
    expect(server.lease?.spec?.leaseTransitions).toBe(1)
  })

  it('sees a release at once where it may watch', async () => {
    server.hold('other', 15)
    const b = new Candidate(server, clock, 'b')
    void b.stand()
    await clock.advance(100)
    server.hold('', 1)
    await clock.advance(1)
    expect(b.leads).toBe(true)
  })

  it('sees a release at its next poll where it may not watch', async () => {
    server.watchForbidden = true
    server.hold('other', 15)
    const b = new Candidate(server, clock, 'b')
    void b.stand()
    await clock.advance(100)
    server.hold('', 1)
    await clock.advance(1)
    expect(b.leads).toBe(false)
    await clock.advance(timings.retryPeriodMs * 2.2)
    expect(b.leads).toBe(true)
  })

  it('leaves nothing behind at each poll', async () => {
    server.watchForbidden = true
    server.hold('other', 1_000_000)
    const b = new Candidate(server, clock, 'b')
    void b.stand()
    await clock.advance(timings.retryPeriodMs * 3)
    const before = b.waiting
    await clock.advance(timings.retryPeriodMs * 100)
    expect(server.requests.length).toBeGreaterThan(40)
    expect(b.waiting).toBe(before)
  })

  it('takes its own lease over at once after a restart', async () => {
    server.hold('a', 15)
    const a = new Candidate(server, clock, 'a')
    void a.stand()
    await clock.settle()
    expect(a.leads).toBe(true)
    expect(server.lease?.spec?.leaseTransitions).toBe(0)
  })

  it('goes on trying while the API server refuses', async () => {
    server.failing = true
    const a = new Candidate(server, clock, 'a')
    void a.stand()
    await clock.advance(60_000)
    server.failing = false
    await clock.advance(timings.retryPeriodMs * 2.2)
    expect(a.leads).toBe(true)
  })

  it('does not stand before it is eligible, and ends at once when stopped', async () => {
    const a = new Candidate(server, clock, 'a')
    const ended = a.stand(
      (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    )
    await clock.advance(60_000)
    expect(server.lease).toBeUndefined()
    a.stop()
    await ended
    expect(a.outcome).toBe('stopped')
    expect(clock.pending).toBe(0)
  })
})

describe('leading', () => {
  it('renews every retry period by one PUT', async () => {
    const a = new Candidate(server, clock, 'a')
    void a.stand()
    await clock.settle()
    server.requests.length = 0
    await clock.advance(30_000)
    expect(server.requests).toEqual(['replace', 'replace', 'replace', 'replace', 'replace', 'replace'])
  })

  it('survives failing renewals until the renew deadline, not beyond', async () => {
    const a = new Candidate(server, clock, 'a')
    void a.stand()
    await clock.settle()
    server.failing = true
    await clock.advance(9_999)
    expect(a.leads).toBe(true)
    await clock.advance(1)
    expect(a.leads).toBe(false)
    expect(a.outcome).toBe('lost')
    expect(a.announced).toEqual(['a became leader', 'a stopped leading'])
    expect(a.log.lines.map(({ message }) => message)).toEqual(
      expect.arrayContaining(['Failed to renew lease', 'Stopped leading']),
    )
  })

  it('is lost when another has the lease', async () => {
    const a = new Candidate(server, clock, 'a')
    void a.stand()
    await clock.settle()
    server.hold('b', 15)
    await clock.advance(5_000)
    expect(a.outcome).toBe('lost')
    expect(server.lease?.spec?.holderIdentity).toBe('b')
  })

  it('renews over a write of somebody else that left the holder alone, counting the slow path', async () => {
    const a = new Candidate(server, clock, 'a')
    void a.stand()
    await clock.settle()
    server.touch()
    await clock.advance(5_000)
    expect(a.leads).toBe(true)
    expect(await a.metrics.text()).toContain('leader_election_slowpath_total{name=""} 1')
  })

  it('ends in a request that hangs as in one that fails', async () => {
    const a = new Candidate(server, clock, 'a')
    void a.stand()
    await clock.settle()
    server.hanging = true
    await clock.advance(10_000)
    expect(a.outcome).toBe('lost')
  })

  it('outlives a server that fails for a moment', async () => {
    const a = new Candidate(server, clock, 'a')
    void a.stand()
    await clock.settle()
    server.failing = true
    await clock.advance(7_000)
    server.failing = false
    server.slowly = () => clock.sleep(100)
    await clock.advance(5_000)
    expect(a.leads).toBe(true)
    expect(a.announced).toEqual(['a became leader'])
  })

  it('waits for a renewal that is slow', async () => {
    const a = new Candidate(server, clock, 'a')
    void a.stand()
    await clock.settle()
    server.slowly = () => clock.sleep(3_400)
    await clock.advance(9_999)
    expect(a.leads).toBe(true)
    expect(server.requests).toEqual(['get', 'create', 'replace'])
  })

  it('keeps the lease for as long as every request takes 4.5 s', async () => {
    const a = new Candidate(server, clock, 'a')
    server.slowly = () => clock.sleep(4_500)
    void a.stand()
    await clock.advance(300_000)
    expect(a.outcome).toBeUndefined()
    expect(a.leads).toBe(true)
    expect(a.announced).toEqual(['a became leader'])
  })

  it('counts the pause between two renewals from the sending', async () => {
    const a = new Candidate(server, clock, 'a')
    void a.stand()
    await clock.settle()
    server.slowly = () => clock.sleep(3_000)
    const sent: number[] = []
    server.onRequest = () => sent.push(clock.monotonic())
    await clock.advance(20_000)
    expect(sent).toEqual([5_000, 10_000, 15_000, 20_000])
  })

  it('takes the answer of the first PUT where that comes while the lease is looked at', async () => {
    const a = new Candidate(server, clock, 'a')
    void a.stand()
    await clock.settle()
    server.slowly = () => clock.sleep(4_900)
    await clock.advance(9_900)
    expect(a.terms[0]?.renewedAt).toBe(5_000)
    expect(server.requests).toEqual(['get', 'create', 'replace', 'get on a new connection'])
  })

  it('ends at the renew deadline, to the millisecond, when no answer comes', async () => {
    const a = new Candidate(server, clock, 'a')
    void a.stand()
    await clock.settle()
    await clock.advance(5_000)
    server.hanging = true
    await clock.advance(9_999)
    expect(a.leads).toBe(true)
    await clock.advance(1)
    expect(a.leads).toBe(false)
    expect(() => a.terms[0]?.assertHeld()).toThrow('the lease was not renewed in time')
    expect(a.outcome).toBe('lost')
  })

  it.each([
    { asked: 4_000, next: [5_000, 5_000, 8_500] },
    { asked: 3_600_000, next: [5_000, 5_000, 8_500, 8_500, 9_250, 9_250] },
  ])('waits $asked ms longer because the server asks for it, as far as the term allows', async ({ asked, next }) => {
    const a = new Candidate(server, clock, 'a')
    void a.stand()
    await clock.settle()
    server.failing = true
    server.retryAfterMs = asked
    const sent: number[] = []
    server.onRequest = () => sent.push(clock.monotonic())
    await clock.advance(8_500)
    if (asked < 10_000) server.failing = false
    await clock.advance(1_000)
    expect(sent.slice(0, next.length)).toEqual(next)
    expect(a.leads).toBe(true)
  })

  it('survives one renewal that hangs, by another within the same term', async () => {
    const a = new Candidate(server, clock, 'a')
    void a.stand()
    await clock.settle()
    server.hanging = true
    await clock.advance(5_000)
    server.hanging = false
    await clock.advance(5_000)
    expect(a.leads).toBe(true)
    expect(server.requests).toEqual(['get', 'create', 'replace', 'get on a new connection', 'replace'])
  })

  it('is told of on the lease as it is', async () => {
    const a = new Candidate(server, clock, 'a')
    void a.stand()
    await clock.settle()
    await clock.advance(5_000)
    a.stop()
    a.drained()
    await clock.settle()
    expect(a.announced).toEqual(['a became leader', 'a stopped leading'])
    expect(a.announcedOn.map((lease) => lease?.metadata)).toEqual([
      { name: 'lease', namespace: 'ns', uid: 'uid', resourceVersion: '1' },
      { name: 'lease', namespace: 'ns', uid: 'uid', resourceVersion: '2' },
    ])
  })

  it('is unhealthy only when it has led on without renewal for lease duration and 20 s', async () => {
    const a = new Candidate(server, clock, 'a')
    void a.stand()
    await clock.settle()
    expect(a.elector.sickness).toBeUndefined()
    const frozen = clock.freeze(35_001)
    expect(a.elector.sickness).toBe('failed election to renew leadership on lease ')
    await frozen
  })
})

describe('handing over', () => {
  it('renews while running work drains, then releases, and the standby leads at once', async () => {
    const a = new Candidate(server, clock, 'a')
    const b = new Candidate(server, clock, 'b')
    void a.stand()
    await clock.settle()
    void b.stand()
    a.stop()
    await clock.advance(20_000)
    expect(a.leads).toBe(true)
    a.drained()
    await clock.advance(1)
    expect(a.outcome).toBe('stopped')
    expect(b.leads).toBe(true)
    expect(server.history.map(({ spec }) => spec?.holderIdentity)).toContain('')
  })

  it.each([
    { throttledMs: 3_000, holder: '' },
    { throttledMs: 60_000, holder: 'a' },
  ])(
    'releases as soon as a server that throttles for $throttledMs ms lets it, within the renew deadline',
    async (row) => {
      const a = new Candidate(server, clock, 'a')
      void a.stand()
      await clock.settle()
      server.throttling = true
      server.retryAfterMs = 3_600_000
      a.stop()
      a.drained()
      await clock.advance(row.throttledMs)
      server.throttling = false
      await clock.advance(1000)
      expect(a.outcome).toBe('stopped')
      expect(server.lease?.spec?.holderIdentity).toBe(row.holder)
      const failures = a.log.lines.filter(({ message }) => message === 'Failed to release lease')
      expect(failures).toHaveLength(row.holder === '' ? 0 : 1)
    },
  )

  it('never has two leaders, whatever is frozen for however long', async () => {
    const a = new Candidate(server, clock, 'a')
    void a.stand()
    await clock.settle()
    const late = a.terms[0]
    server.failing = true
    await clock.advance(14_999)
    const b = new Candidate(server, clock, 'b')
    server.failing = false
    void b.stand()
    await clock.advance(1)
    expect(late?.held()).toBe(false)
    expect(b.leads).toBe(false)
    await clock.advance(15_000)
    expect(b.leads).toBe(true)
  })
})

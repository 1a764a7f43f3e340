import { FakeClock } from '@csi-sidecars/base/testing'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { Candidate, TIMINGS } from './testing/candidate.ts'
import { LeaseServer } from './testing/lease-server.ts'

let clock: FakeClock
let server: LeaseServer
beforeEach(() => {
  clock = new FakeClock()
  server = new LeaseServer()
})

describe('earlier leaders', () => {
  it('`soleSince` of a term is the time at which the process found the lease free', async () => {
    server.hold('gone', 15)
    const b = new Candidate(server, clock, 'b')
    void b.run()
    await clock.advance(20_000)
    expect(b.terms[0]?.soleSince).toBe(15_000)
  })

  it.each([
    { how: 'after the lease was read', failing: false },
    { how: 'after the lease could not be read', failing: true },
  ])('the promise `firstRead` of the elector resolves $how', async ({ failing }) => {
    server.hold('other', 15)
    server.failing = failing
    const b = new Candidate(server, clock, 'b')
    let hasRead = false
    void b.elector.firstRead.then(() => {
      hasRead = true
    })
    await clock.settle()
    expect(hasRead).toBe(false)
    void b.run()
    await clock.settle()
    expect(hasRead).toBe(true)
  })
})

describe('acquiring', () => {
  it('the first process creates the lease and leads', async () => {
    const a = new Candidate(server, clock, 'a')
    void a.run()
    await clock.settle()
    expect(a.leads).toBe(true)
    expect(server.lease?.spec).toMatchObject({ holderIdentity: 'a', leaseTransitions: 0 })
    expect(a.announced).toEqual(['a became leader'])
    expect(await a.metrics.text()).toContain('leader_election_master_status{name=""} 1')
  })

  it('a standby takes a lease as soon as it expires, and not only at its next try', async () => {
    server.hold('gone', 15)
    const b = new Candidate(server, clock, 'b')
    void b.run()
    await clock.advance(14_999)
    expect(b.leads).toBe(false)
    await clock.advance(1)
    expect(b.leads).toBe(true)
    expect(server.lease?.spec?.leaseTransitions).toBe(1)
  })

  it('a standby with permission to watch leases takes a released lease at once', async () => {
    server.hold('other', 15)
    const b = new Candidate(server, clock, 'b')
    void b.run()
    await clock.advance(100)
    server.hold('', 1)
    await clock.advance(1)
    expect(b.leads).toBe(true)
  })

  it('a standby without permission to watch leases takes a released lease at its next poll', async () => {
    server.watchForbidden = true
    server.hold('other', 15)
    const b = new Candidate(server, clock, 'b')
    void b.run()
    await clock.advance(100)
    server.hold('', 1)
    await clock.advance(1)
    expect(b.leads).toBe(false)
    await clock.advance(TIMINGS.retryPeriodMs * 2.2)
    expect(b.leads).toBe(true)
  })

  it('a standby does not keep a listener for each read of the lease', async () => {
    server.watchForbidden = true
    server.hold('other', 1_000_000)
    const b = new Candidate(server, clock, 'b')
    void b.run()
    await clock.advance(TIMINGS.retryPeriodMs * 3)
    const before = b.waiting
    await clock.advance(TIMINGS.retryPeriodMs * 100)
    expect(server.requests.length).toBeGreaterThan(40)
    expect(b.waiting).toBe(before)
  })

  it('a restarted process takes over its own lease at once', async () => {
    server.hold('a', 15)
    const a = new Candidate(server, clock, 'a')
    void a.run()
    await clock.settle()
    expect(a.leads).toBe(true)
    expect(server.lease?.spec?.leaseTransitions).toBe(0)
  })

  it('a process that wants to lead keeps trying while the API server refuses its requests', async () => {
    server.failing = true
    const a = new Candidate(server, clock, 'a')
    void a.run()
    await clock.advance(60_000)
    server.failing = false
    await clock.advance(TIMINGS.retryPeriodMs * 2.2)
    expect(a.leads).toBe(true)
  })

  it.each([
    ['failing', 3],
    ['forbidden', 0],
  ] as const)(
    'if the server is %s, the elector logs %d lines, because the client logs a missing permission',
    async (state, lines) => {
      server[state] = true
      const a = new Candidate(server, clock, 'a')
      void a.run()
      await clock.advance(TIMINGS.retryPeriodMs * 4)
      const seen = a.log.lines.filter(({ message }) => message === 'Error retrieving or updating lease lock')
      expect(seen.length).toBe(lines)
    },
  )

  it('a process waits for `whenEligible` before it requests the lease, and can be stopped during this wait', async () => {
    const a = new Candidate(server, clock, 'a')
    const ended = a.run(
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

describe('the handover between leaders', () => {
  it('a stopped leader keeps the lease until its work has ended, and then the standby leads at once', async () => {
    const a = new Candidate(server, clock, 'a')
    const b = new Candidate(server, clock, 'b')
    void a.run()
    await clock.settle()
    void b.run()
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
  ])('a stopped leader releases the lease only if throttling ends in time ($throttledMs ms)', async (row) => {
    const a = new Candidate(server, clock, 'a')
    void a.run()
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
  })

  it('two processes never lead at once, even if the leader cannot renew its lease', async () => {
    const a = new Candidate(server, clock, 'a')
    void a.run()
    await clock.settle()
    const late = a.terms[0]
    server.failing = true
    await clock.advance(14_999)
    const b = new Candidate(server, clock, 'b')
    server.failing = false
    void b.run()
    await clock.advance(1)
    expect(late?.isHeld()).toBe(false)
    expect(b.leads).toBe(false)
    await clock.advance(15_000)
    expect(b.leads).toBe(true)
  })
})

import { FakeClock } from '@csi-sidecars/base/testing'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { Candidate } from './testing/candidate.ts'
import { LeaseServer } from './testing/lease-server.ts'

let clock: FakeClock
let server: LeaseServer
beforeEach(() => {
  clock = new FakeClock()
  server = new LeaseServer()
})

describe('leading', () => {
  it('a leader renews the lease by one PUT in every retry period', async () => {
    const a = new Candidate(server, clock, 'a')
    void a.run()
    await clock.settle()
    server.requests.length = 0
    await clock.advance(30_000)
    expect(server.requests).toEqual(['replace', 'replace', 'replace', 'replace', 'replace', 'replace'])
  })

  it('a leader survives failing renewals of the lease only until the renew deadline', async () => {
    const a = new Candidate(server, clock, 'a')
    void a.run()
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

  it('a leader stops leading when another process has taken the lease', async () => {
    const a = new Candidate(server, clock, 'a')
    void a.run()
    await clock.settle()
    server.hold('b', 15)
    await clock.advance(5_000)
    expect(a.outcome).toBe('lost')
    expect(server.lease?.spec?.holderIdentity).toBe('b')
  })

  it('a leader still renews if another writer has changed only the metadata of the lease, and a metric counts this', async () => {
    const a = new Candidate(server, clock, 'a')
    void a.run()
    await clock.settle()
    server.touch()
    await clock.advance(5_000)
    expect(a.leads).toBe(true)
    expect(await a.metrics.text()).toContain('leader_election_slowpath_total{name=""} 1')
  })

  it('a leader stops at the renew deadline if a request hangs', async () => {
    const a = new Candidate(server, clock, 'a')
    void a.run()
    await clock.settle()
    server.hanging = true
    await clock.advance(10_000)
    expect(a.outcome).toBe('lost')
  })

  it('a leader keeps leading during a short failure of the server', async () => {
    const a = new Candidate(server, clock, 'a')
    void a.run()
    await clock.settle()
    server.failing = true
    await clock.advance(7_000)
    server.failing = false
    server.slowly = () => clock.sleep(100)
    await clock.advance(5_000)
    expect(a.leads).toBe(true)
    expect(a.announced).toEqual(['a became leader'])
  })

  it('a leader waits for the answer to a slow renewal of the lease', async () => {
    const a = new Candidate(server, clock, 'a')
    void a.run()
    await clock.settle()
    server.slowly = () => clock.sleep(3_400)
    await clock.advance(9_999)
    expect(a.leads).toBe(true)
    expect(server.requests).toEqual(['get', 'create', 'replace'])
  })

  it('a leader keeps the lease if every request takes 4.5 s', async () => {
    const a = new Candidate(server, clock, 'a')
    server.slowly = () => clock.sleep(4_500)
    void a.run()
    await clock.advance(300_000)
    expect(a.outcome).toBeUndefined()
    expect(a.leads).toBe(true)
    expect(a.announced).toEqual(['a became leader'])
  })

  it('a slow answer to a renewal of the lease does not delay the next renewal', async () => {
    const a = new Candidate(server, clock, 'a')
    void a.run()
    await clock.settle()
    server.slowly = () => clock.sleep(3_000)
    const sent: number[] = []
    server.onRequest = () => sent.push(clock.monotonic())
    await clock.advance(20_000)
    expect(sent).toEqual([5_000, 10_000, 15_000, 20_000])
  })

  it('a slow renewal still counts if its answer arrives while the leader reads the lease', async () => {
    const a = new Candidate(server, clock, 'a')
    void a.run()
    await clock.settle()
    server.slowly = () => clock.sleep(4_900)
    await clock.advance(9_900)
    expect(a.terms[0]?.renewedAt).toBe(5_000)
    expect(server.requests).toEqual(['get', 'create', 'replace', 'get on a new connection'])
  })

  it('the term of a leader ends exactly at the renew deadline if the server stops answering', async () => {
    const a = new Candidate(server, clock, 'a')
    void a.run()
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
  ])('a leader waits the $asked ms that the server asks for, if the term allows it', async ({ asked, next }) => {
    const a = new Candidate(server, clock, 'a')
    void a.run()
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

  it('a leader survives one renewal of the lease without an answer', async () => {
    const a = new Candidate(server, clock, 'a')
    void a.run()
    await clock.settle()
    server.hanging = true
    await clock.advance(5_000)
    server.hanging = false
    await clock.advance(5_000)
    expect(a.leads).toBe(true)
    expect(server.requests).toEqual(['get', 'create', 'replace', 'get on a new connection', 'replace'])
  })

  it('a leader records an event about the lease when it starts leading and when it stops', async () => {
    const a = new Candidate(server, clock, 'a')
    void a.run()
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

  it('a leader is unhealthy only if its last renewal is older than the lease duration plus 20 s', async () => {
    const a = new Candidate(server, clock, 'a')
    void a.run()
    await clock.settle()
    expect(a.elector.unhealthyReason).toBeUndefined()
    const frozen = clock.freeze(35_001)
    expect(a.elector.unhealthyReason).toBe('failed election to renew leadership on lease ')
    await frozen
  })
})

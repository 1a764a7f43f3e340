import { FakeClock } from '@csi-sidecars/base/testing'
import { describe, expect, it } from '@jest/globals'
import { LeaderTerm } from './term.ts'

const start = (): { clock: FakeClock; term: LeaderTerm } => {
  const clock = new FakeClock()
  return { clock, term: new LeaderTerm({ clock, renewDeadlineMs: 10_000, sentAt: clock.monotonic(), soleSince: 0 }) }
}

describe('Term', () => {
  it('a term ends by itself at the renew deadline', async () => {
    const { clock, term } = start()
    await clock.advance(9_999)
    expect(term.isHeld()).toBe(true)
    await clock.advance(1)
    expect(term.isHeld()).toBe(false)
    expect(term.signal.aborted).toBe(true)
  })

  it('the renew deadline of a term starts when the renewal is sent, not when it is answered', async () => {
    const { clock, term } = start()
    const sentAt = clock.monotonic()
    await clock.advance(4_000)
    term.extend(sentAt)
    await clock.advance(6_000)
    expect(term.isHeld()).toBe(false)
  })

  it('each renewal of the lease extends the term', async () => {
    const { clock, term } = start()
    for (let i = 0; i < 10; i += 1) {
      await clock.advance(5_000)
      term.extend(clock.monotonic())
    }
    expect(term.isHeld()).toBe(true)
    expect(clock.pending).toBe(1)
  })

  it('`assertHeld` ends an expired term after the process was frozen, even before any timer fires', () => {
    const { clock, term } = start()
    const frozen = clock.freeze(40_000)
    expect(() => term.assertHeld()).toThrow('the lease was not renewed in time')
    expect(term.signal.aborted).toBe(true)
    return frozen
  })

  it('a renewal of the lease does not extend a term that has ended', async () => {
    const { clock, term } = start()
    term.end('lost')
    term.extend(clock.monotonic())
    expect(term.isHeld()).toBe(false)
    expect(clock.pending).toBe(0)
  })
})

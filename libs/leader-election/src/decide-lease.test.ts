import { describe, expect, it } from '@jest/globals'
import { decideLease, type LeaseDecision, type LeaseView } from './decide-lease.ts'

const held = (holder: string, since: number): LeaseView['seen'] => ({ record: { holder, durationMs: 15_000 }, since })

describe('decideLease', () => {
  const rows: { name: string; seen: LeaseView['seen']; now?: number; decision: LeaseDecision }[] = [
    { name: 'creates a lease that is not there', seen: undefined, decision: { do: 'create' } },
    { name: 'continues with its own', seen: held('me', 0), decision: { do: 'take', why: 'ours' } },
    {
      name: 'continues with its own, at any age',
      seen: held('me', 0),
      now: 60_000,
      decision: { do: 'take', why: 'ours' },
    },
    { name: 'takes a released one at once', seen: held('', 0), now: 1, decision: { do: 'take', why: 'released' } },
    {
      name: "waits for another's",
      seen: held('other', 1_000),
      now: 2_000,
      decision: { do: 'wait', holder: 'other', expiresInMs: 14_000 },
    },
    {
      name: 'waits until the very end of the duration',
      seen: held('other', 0),
      now: 14_999,
      decision: { do: 'wait', holder: 'other', expiresInMs: 1 },
    },
    {
      name: "takes another's once it has not changed for its duration",
      seen: held('other', 0),
      now: 15_000,
      decision: { do: 'take', why: 'expired' },
    },
  ]
  it.each(rows)('$name', ({ seen, now = 0, decision }) => {
    expect(decideLease({ me: 'me', now, seen })).toEqual(decision)
  })
})

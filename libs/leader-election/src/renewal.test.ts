import { scope } from '@csi-sidecars/base'
import { FakeClock } from '@csi-sidecars/base/testing'
import { describe, expect, it } from '@jest/globals'
import type { LeaseHolder } from './lease-holder.ts'
import { renewWhileLeading } from './renewal.ts'
import { LeaderTerm } from './term.ts'

const tired = new Error('etcd is tired')

/** A `LeaseHolder` whose requests all fail. */
const holder = {
  sendWrite: () => Promise.reject(tired),
  read: () => Promise.reject(tired),
} as unknown as LeaseHolder

it('`renewWhileLeading` returns why the term ended, even if the leading work ends at the same time', async () => {
  const clock = new FakeClock()
  const term = new LeaderTerm({ clock, renewDeadlineMs: 2_000, sentAt: 0, soleSince: 0 })
  using leading = scope()
  term.signal.addEventListener('abort', () => leading.abort(new Error('done leading')))
  const why = renewWhileLeading(term, leading.signal, {
    holder,
    clock,
    retryPeriodMs: 500,
    onSlowPath: () => undefined,
    onRead: () => undefined,
  })
  await clock.advance(2_000)
  expect(await why).toBe(tired)
})

describe('the slow path of `renewWhileLeading`', () => {
  it.each<[string, string, () => Promise<never>, number]>([
    ['fails', 'etcd is tired', () => Promise.reject(tired), 500],
    ['hangs', 'no answer within 750 ms', () => new Promise(() => undefined), 1_250],
  ])('a renewal whose first PUT %s reports it, reads the Lease and writes it again', async (_, why, firstPut, now) => {
    const clock = new FakeClock()
    const term = new LeaderTerm({ clock, renewDeadlineMs: 2_000, sentAt: 0, soleSince: 0 })
    using leading = scope()
    const steps: string[] = []
    let puts = 0
    let readSignal: AbortSignal | undefined
    const recovering = {
      sendWrite: () => {
        puts += 1
        steps.push(`PUT ${puts}`)
        return puts === 1 ? firstPut() : Promise.resolve({ sentAt: clock.monotonic() })
      },
      read: async (signal: AbortSignal) => {
        readSignal = signal
        steps.push('GET')
      },
      decide: () => ({ kind: 'take', why: 'ours' }),
      storeWritten: ({ sentAt }: { readonly sentAt: number }) => sentAt,
    } as unknown as LeaseHolder
    const ended = renewWhileLeading(term, leading.signal, {
      holder: recovering,
      clock,
      retryPeriodMs: 500,
      onSlowPath: (text) => steps.push(text),
      onRead: () => steps.push('read'),
    })
    await clock.advance(now)
    expect(steps).toEqual(['PUT 1', why, 'GET', 'read', 'PUT 2'])
    expect([term.renewedAt, readSignal?.aborted]).toEqual([now, true])
    leading.abort(new Error('done leading'))
    expect(await ended).toBeUndefined()
  })
})

import { scope } from '@csi-sidecars/base'
import { FakeClock } from '@csi-sidecars/base/testing'
import { expect, it } from '@jest/globals'
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

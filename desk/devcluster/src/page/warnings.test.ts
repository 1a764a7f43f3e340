import { describe, expect, it } from '@jest/globals'
import type { LastEvent, Level, Wait } from './view/wire.ts'
import { stillHolds } from './view/wire.ts'

const AT = 100_000
const event = (bad: boolean): LastEvent => {
  const line = { at: AT, text: 'no', ...(bad && { bad }) }
  return { kind: 'event', id: 'event/x', of: 'x', line, reason: 'FailedAttachVolume', object: 'Pod app', count: 1 }
}
const wait = (level: Level, since: number): Wait => ({
  who: 'csi-attacher',
  level,
  object: 'pod app',
  why: 'no',
  since,
  stuck: false,
})

describe('rowOf', () => {
  it.each<[string, boolean, readonly Wait[], boolean]>([
    ['shows a warning if its failure began before the warning', true, [wait('trouble', AT - 5000)], true],
    ['shows a warning if its failure began in the same second', true, [wait('trouble', AT + 900)], true],
    ['shows a warning while it waits', true, [wait('waits', AT)], true],
    ['hides a warning if it has its desired state', true, [], false],
    ['hides a warning while it makes progress', true, [wait('works', AT)], false],
    ['hides a warning if its failure began a minute after the warning', true, [wait('trouble', AT + 60_000)], false],
    ['shows an event that is no warning', false, [], true],
  ])('a row of the page %s', (_, bad, waits, holds) => {
    expect(stillHolds(event(bad), waits)).toBe(holds)
  })
})

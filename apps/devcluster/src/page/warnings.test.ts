import { describe, expect, it } from '@jest/globals'
import type { LastEvent, Level, Wait } from './view/wire.ts'
import { stillHolds } from './view/wire.ts'

const AT = 100_000
const event = (bad: boolean): LastEvent => {
  const said = { at: AT, text: 'no', ...(bad && { bad }) }
  return { is: 'event', id: 'event/x', of: 'x', said, reason: 'FailedAttachVolume', about: 'Pod app', count: 1 }
}
const wait = (level: Level, since: number): Wait => ({
  who: 'csi-attacher',
  level,
  about: 'pod app',
  why: 'no',
  since,
  stuck: false,
})

describe('an event in a row', () => {
  it.each<[string, boolean, readonly Wait[], boolean]>([
    ['a warning, and the row is stuck since before', true, [wait('trouble', AT - 5000)], true],
    ['a warning that came with the trouble, whose time has no milliseconds', true, [wait('trouble', AT + 900)], true],
    ['a warning, and the row waits', true, [wait('waits', AT)], true],
    ['a warning in a row that has reached its desired state', true, [], false],
    ['a warning in a row that makes progress', true, [wait('works', AT)], false],
    ['a warning from before the present trouble', true, [wait('trouble', AT + 60_000)], false],
    ['another event', false, [], true],
  ])('%s', (_, bad, waits, holds) => {
    expect(stillHolds(event(bad), waits)).toBe(holds)
  })
})

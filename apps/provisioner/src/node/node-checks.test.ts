import { describe, expect, it } from '@jest/globals'
import { NodeDriverChecks } from './node-checks.ts'

function atTime() {
  const time = { now: 0 }
  const checks = new NodeDriverChecks({ monotonic: () => time.now, random: () => 0.5 })
  return { time, checks, waitMs: (node = 'node-2') => checks.msUntilCheck('uid', node, 1_000) }
}

describe('NodeChecks', () => {
  it('the delay before the check of a node starts at the first call of `waitMs`', () => {
    const { time, waitMs } = atTime()
    expect(waitMs()).toBe(1_500)
    time.now = 1_400
    expect(waitMs()).toBe(100)
    time.now = 9_000
    expect(waitMs()).toBe(0)
  })

  it('a check of the same node is repeated after 15 minutes or more', () => {
    const { time, checks, waitMs } = atTime()
    waitMs()
    time.now = 1_500
    expect(checks.postpone('uid', 'node-2', 1_000)).toBe(22.5 * 60_000)
    expect(waitMs()).toBe(22.5 * 60_000)
    expect(checks.postpone('uid', 'node-2', 60 * 60_000)).toBe(90 * 60_000)
  })

  it('the delay starts again if another node is selected', () => {
    const { time, waitMs } = atTime()
    waitMs()
    time.now = 9_000
    expect(waitMs('node-3')).toBe(1_500)
  })

  it('the delay starts again for a forgotten claim', () => {
    const { time, checks, waitMs } = atTime()
    waitMs()
    time.now = 9_000
    checks.forget('uid')
    expect(checks.size).toBe(0)
    expect(waitMs()).toBe(1_500)
  })
})

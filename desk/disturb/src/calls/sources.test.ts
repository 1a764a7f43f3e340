import { describe, expect, it } from '@jest/globals'
import { callOf } from '../testing/proxied-calls.ts'
import type { LiveCall, ObservedCall } from './seen.ts'
import { answered, ProxiedCalls } from './sources.ts'

function watched(): {
  readonly calls: ProxiedCalls
  readonly live: LiveCall[]
  readonly seen: ObservedCall[]
  readonly leave: () => void
} {
  const calls = new ProxiedCalls()
  const live: LiveCall[] = []
  const seen: ObservedCall[] = []
  const undo = [calls.source((call) => live.push(call)), answered(calls.source)((call) => seen.push(call))]
  return { calls, live, seen, leave: () => undo.forEach((each) => void each()) }
}

describe('ProxiedCalls', () => {
  it('a subscriber gets each proxied call at its begin and at its end', () => {
    const { calls, live, seen } = watched()
    const begun = callOf('CreateVolume', { name: 'v' })
    calls.report(begun)
    expect([live.length, live[0]?.end, seen.length]).toEqual([1, undefined, 0])
    calls.report({ ...begun, end: begun.start + 4, code: 0, response: { volume: {} } })
    expect(live[1]).toMatchObject({ id: begun.id, end: { code: 0, tookMs: 4, response: { volume: {} } } })
    expect(seen).toMatchObject([{ method: 'CreateVolume', code: 0, tookMs: 4 }])
  })

  it('a proxied call without an answer is reported as Unavailable', () => {
    const { calls, seen } = watched()
    const begun = callOf('CreateVolume', {})
    calls.report({ ...begun, end: begun.start + 1, message: 'the driver was lost' })
    expect(seen).toMatchObject([{ code: 14, message: 'the driver was lost' }])
  })

  it('a subscriber gets no proxied calls after the end of its subscription', () => {
    const { calls, live, seen, leave } = watched()
    leave()
    calls.report({ ...callOf('CreateVolume', {}), end: 9, code: 0 })
    expect([live, seen]).toEqual([[], []])
  })
})

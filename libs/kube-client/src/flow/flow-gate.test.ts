import { FakeClock } from '@csi-sidecars/base'
import { beforeEach, describe, expect, test } from '@jest/globals'
import { AdaptivePolicy } from './adaptive-policy.ts'
import { BucketPolicy } from './bucket-policy.ts'
import { FlowGate, type Permit } from './flow-gate.ts'

let clock: FakeClock
let gate: FlowGate
let passed: string[]
beforeEach(() => {
  clock = new FakeClock()
  gate = new FlowGate(clock, new BucketPolicy({ qps: 10, burst: 2, now: clock.monotonic() }))
  passed = []
})

const enter = async (name: string, signal?: AbortSignal): Promise<Permit> => {
  const permit = await gate.enter(signal)
  passed.push(`${name}@${clock.monotonic()}`)
  return permit
}
const enterAll = (...names: string[]): void => {
  for (const name of names) void enter(name)
}

test('requests pass in their order, as fast as the policy lets them', async () => {
  enterAll('a', 'b', 'c', 'd')
  await clock.advance(1000)
  expect(passed).toEqual(['a@0', 'b@0', 'c@100', 'd@200'])
  expect(clock.pending).toBe(0)
})

test('a free gate answers at once, without a promise', () => {
  expect(gate.enter()).toMatchObject({ waitedMs: 0 })
})

test('the permit says how long it was waited for', async () => {
  enterAll('a', 'b')
  const third = enter('c')
  await clock.advance(100)
  expect((await third).waitedMs).toBe(100)
})

describe('a pause', () => {
  test('holds everybody back, those that wait already included', async () => {
    enterAll('a', 'b', 'c')
    gate.pause(2000)
    enterAll('d')
    await clock.advance(1999)
    expect(passed).toEqual(['a@0', 'b@0'])
    await clock.advance(1)
    expect(passed).toEqual(['a@0', 'b@0', 'c@2000', 'd@2000'])
  })

  test('is not shortened by a later, shorter one', async () => {
    gate.pause(2000)
    gate.pause(100)
    enterAll('a')
    await clock.advance(1999)
    expect(passed).toEqual([])
    await clock.advance(1)
    expect(passed).toEqual(['a@2000'])
  })
})

describe('a caller that is aborted', () => {
  test('gives its place to the next one and leaves nothing behind', async () => {
    enterAll('a', 'b')
    const stop = new AbortController()
    const third = enter('c', stop.signal)
    enterAll('d')
    stop.abort(new Error('enough'))
    await expect(third).rejects.toThrow('enough')
    await clock.advance(100)
    expect(passed).toEqual(['a@0', 'b@0', 'd@100'])
  })

  test('alone takes the timer with it', async () => {
    enterAll('a', 'b')
    const stop = new AbortController()
    const third = enter('c', stop.signal)
    stop.abort(new Error('enough'))
    await expect(third).rejects.toThrow('enough')
    expect(clock.pending).toBe(0)
  })

  test('before it asks does not even queue', async () => {
    enterAll('a', 'b')
    await expect(enter('c', AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late')
  })
})

test('the end of a running request lets the next one pass, without a timer', async () => {
  gate = new FlowGate(clock, new AdaptivePolicy(0, { maxRate: 1000, minRate: 5, gain: 100, maxRunning: 1 }))
  const first = await enter('a')
  enterAll('b')
  await clock.settle()
  expect(passed).toEqual(['a@0'])
  expect(clock.pending).toBe(0)
  first.end('done')
  await clock.settle()
  expect(passed).toEqual(['a@0', 'b@0'])
})

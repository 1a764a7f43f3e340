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

describe('what is to spare', () => {
  const spare = async (signal?: AbortSignal): Promise<void> => {
    const { waitedMs } = await gate.enterSpare(signal)
    passed.push(`spare@${clock.monotonic()} after ${waitedMs}`)
  }

  test('passes when nobody else waits, and not before', async () => {
    enterAll('a', 'b', 'c', 'd')
    void spare()
    await clock.advance(200)
    expect(passed).toEqual(['a@0', 'b@0', 'c@100', 'd@200'])
    await clock.advance(2000)
    expect(passed.at(-1)).toMatch(/^spare@/)
    expect(clock.pending).toBe(0)
  })

  test('is not taken from whoever came later and waits as well', async () => {
    gate = new FlowGate(clock, new BucketPolicy({ qps: 10, burst: 1, now: clock.monotonic() }))
    enterAll('a')
    void spare()
    enterAll('b')
    await clock.advance(100)
    expect(passed).toEqual(['a@0', 'b@100'])
    await clock.advance(2000)
    expect(passed).toHaveLength(3)
  })

  test('leaves room: whoever comes right after it does not wait', async () => {
    void spare()
    await clock.settle()
    enterAll('a')
    expect(passed.length).toBe(1)
    await clock.settle()
    expect(passed).toEqual(['spare@0 after 0', 'a@0'])
  })

  test('waits in line with others after its time, however many there are', async () => {
    gate = new FlowGate(clock, new BucketPolicy({ qps: 10, burst: 1, now: clock.monotonic() }))
    const names = Array.from({ length: 60 }, (_, index) => `a${index}`)
    enterAll(...names.slice(0, 40))
    const low = gate.enterSpare(undefined, 2000).then(({ waitedMs }) => passed.push(`low after ${waitedMs}`))
    await clock.advance(1000)
    enterAll(...names.slice(40))
    await clock.advance(10_000)
    await low
    expect(passed.slice(-2)).toEqual(['a59@5900', 'low after 6000'])
  })

  test('waits out a pause, and ends with its signal', async () => {
    gate.pause(5000)
    const stop = new AbortController()
    const waiting = spare(stop.signal)
    await clock.advance(4000)
    stop.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
    expect([passed, clock.pending]).toEqual([[], 0])
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

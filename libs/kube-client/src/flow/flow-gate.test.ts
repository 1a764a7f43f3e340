import { FakeClock } from '@csi-sidecars/base/testing'
import { beforeEach, describe, expect, test } from '@jest/globals'
import { AdaptivePolicy, BucketPolicy } from './adaptive-policy.ts'
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

test('requests pass the flow gate in their order, as fast as the policy allows', async () => {
  enterAll('a', 'b', 'c', 'd')
  await clock.advance(1000)
  expect(passed).toEqual(['a@0', 'b@0', 'c@100', 'd@200'])
  expect(clock.pending).toBe(0)
})

test('an idle flow gate returns a permit synchronously, and not as a promise', () => {
  expect(gate.enter()).toMatchObject({ waitedMs: 0 })
})

test('the permit of a request contains the time that the request has waited', async () => {
  enterAll('a', 'b')
  const third = enter('c')
  await clock.advance(100)
  expect((await third).waitedMs).toBe(100)
})

describe('refused requests', () => {
  const again = async (name: string, waitMs: number, signal?: AbortSignal): Promise<Permit> => {
    const permit = await gate.enterAgain(waitMs, signal)
    passed.push(`${name}@${clock.monotonic()}`)
    return permit
  }

  test('after its Retry-After a refused request passes the flow gate before other waiting requests', async () => {
    void again('refused', 250)
    enterAll('a', 'b', 'c', 'd', 'e', 'f')
    await clock.advance(400)
    expect(passed).toEqual(['a@0', 'b@0', 'c@100', 'd@200', 'refused@300', 'e@400'])
  })

  test('a refused request passes the flow gate before its Retry-After ends if another request succeeds', async () => {
    gate = new FlowGate(clock, new AdaptivePolicy(2))
    const [first, second] = [await enter('a'), await enter('b')]
    first.end({ retryAfterMs: 1000 })
    void again('a', 1000)
    await clock.advance(10)
    second.end('done')
    await clock.settle()
    expect([passed, clock.pending]).toEqual([['a@0', 'b@0', 'a@10'], 0])
  })

  test('a refused request waits for its whole Retry-After if no other request succeeds', async () => {
    gate = new FlowGate(clock, new AdaptivePolicy(2))
    const first = await enter('a')
    first.end({ retryAfterMs: 1000 })
    void again('a', 1000)
    await clock.advance(999)
    expect(passed).toEqual(['a@0'])
    await clock.advance(1)
    expect(passed).toEqual(['a@0', 'a@1000'])
  })

  test('a refused request stops waiting when its signal is aborted, and leaves no timer behind', async () => {
    const stop = new AbortController()
    const waiting = again('a', 1000, stop.signal)
    stop.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
    expect(clock.pending).toBe(0)
  })
})

describe('aborted callers', () => {
  test('an aborted request leaves its place in the queue to the next request', async () => {
    enterAll('a', 'b')
    const stop = new AbortController()
    const third = enter('c', stop.signal)
    enterAll('d')
    stop.abort(new Error('enough'))
    await expect(third).rejects.toThrow('enough')
    await clock.advance(100)
    expect(passed).toEqual(['a@0', 'b@0', 'd@100'])
  })

  test('the abort of the only waiting request cancels the timer of the flow gate', async () => {
    enterAll('a', 'b')
    const stop = new AbortController()
    const third = enter('c', stop.signal)
    stop.abort(new Error('enough'))
    await expect(third).rejects.toThrow('enough')
    expect(clock.pending).toBe(0)
  })

  test('a request whose signal is already aborted does not queue', async () => {
    enterAll('a', 'b')
    await expect(enter('c', AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late')
  })
})

describe('requests of priority `background`', () => {
  const background = async (signal?: AbortSignal): Promise<void> => {
    const { waitedMs } = await gate.enterInBackground(signal)
    passed.push(`background@${clock.monotonic()} after ${waitedMs}`)
  }

  test('a request of priority `background` passes the flow gate only when no other request waits', async () => {
    enterAll('a', 'b', 'c', 'd')
    void background()
    await clock.advance(200)
    expect(passed).toEqual(['a@0', 'b@0', 'c@100', 'd@200'])
    await clock.advance(2000)
    expect(passed.at(-1)).toMatch(/^background@/)
    expect(clock.pending).toBe(0)
  })

  test('a request of priority `background` lets later requests pass first', async () => {
    gate = new FlowGate(clock, new BucketPolicy({ qps: 10, burst: 1, now: clock.monotonic() }))
    enterAll('a')
    void background()
    enterAll('b')
    await clock.advance(100)
    expect(passed).toEqual(['a@0', 'b@100'])
    await clock.advance(2000)
    expect(passed).toHaveLength(3)
  })

  test('a request of priority `background` does not delay the next request', async () => {
    void background()
    await clock.settle()
    enterAll('a')
    expect(passed.length).toBe(1)
    await clock.settle()
    expect(passed).toEqual(['background@0 after 0', 'a@0'])
  })

  test('a request of priority `low` joins the queue of normal requests after its maximum wait', async () => {
    gate = new FlowGate(clock, new BucketPolicy({ qps: 10, burst: 1, now: clock.monotonic() }))
    const names = Array.from({ length: 60 }, (_, index) => `a${index}`)
    enterAll(...names.slice(0, 40))
    const low = gate.enterInBackground(undefined, 2000).then(({ waitedMs }) => passed.push(`low after ${waitedMs}`))
    await clock.advance(1000)
    enterAll(...names.slice(40))
    await clock.advance(10_000)
    await low
    expect(passed.slice(-2)).toEqual(['a59@5900', 'low after 6000'])
  })

  test('a request of priority `background` stops waiting when its signal is aborted', async () => {
    gate = new FlowGate(clock, new BucketPolicy({ qps: 10, burst: 1, now: clock.monotonic() }))
    enterAll('a')
    const stop = new AbortController()
    const waiting = background(stop.signal)
    await clock.advance(10)
    stop.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
    expect([passed, clock.pending]).toEqual([['a@0'], 0])
  })
})

test('the end of a running request lets the next request pass, without a timer', async () => {
  gate = new FlowGate(clock, new AdaptivePolicy(1))
  const first = await enter('a')
  enterAll('b')
  await clock.settle()
  expect(passed).toEqual(['a@0'])
  expect(clock.pending).toBe(0)
  first.end('done')
  await clock.settle()
  expect(passed).toEqual(['a@0', 'b@0'])
})

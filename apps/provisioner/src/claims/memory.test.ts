import { FakeClock } from '@csi-sidecars/base/testing'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { forgetGone } from './forget.ts'
import { ClaimMemory, type UncertainCall } from './memory.ts'

const PAUSE_MS = 60_000
let clock: FakeClock
let memory: ClaimMemory

beforeEach(() => {
  clock = new FakeClock()
  memory = new ClaimMemory(clock, PAUSE_MS)
})

describe('ClaimMemory.pause', () => {
  it('the pause of an infeasible claim lasts for the configured time', async () => {
    memory.pauseClaim('a', 'class')
    await clock.advance(PAUSE_MS - 1)
    expect(memory.pausedForMs('a', 'class')).toBe(1)
    await clock.advance(1)
    expect(memory.pausedForMs('a', 'class')).toBe(0)
  })

  it.each<[string, () => void, string]>([
    ['a class with another UID', () => {}, 'other'],
    ['the end of the claim', () => memory.forget('a'), 'class'],
    ['a new driver', () => memory.onDriverReturn(), 'class'],
  ])('`ClaimMemory` ends the pause of an infeasible claim after %s', (_, change, classUid) => {
    memory.pauseClaim('a', 'class')
    expect(memory.pausedForMs('a', 'class')).toBe(PAUSE_MS)
    change()
    expect(memory.pausedForMs('a', classUid)).toBe(0)
  })

  it('the pause of an infeasible claim does not pause other claims', () => {
    memory.pauseClaim('a', 'class')
    expect(memory.pausedForMs('b', 'class')).toBe(0)
  })
})

describe('ClaimMemory.shouldRecord', () => {
  it('an event of a claim counts as new if its message has changed, or after 15 minutes', async () => {
    expect([memory.shouldRecord('a', 'x'), memory.shouldRecord('a', 'x'), memory.shouldRecord('b', 'x')]).toEqual([
      true,
      false,
      true,
    ])
    expect([memory.shouldRecord('a', 'y'), memory.shouldRecord('a', 'x')]).toEqual([true, true])
    await clock.advance(15 * 60_000)
    expect(memory.shouldRecord('a', 'x')).toBe(true)
  })

  it('a forgotten claim may get the Provisioning event again', () => {
    expect([memory.shouldRecordBegin('a'), memory.shouldRecordBegin('a')]).toEqual([true, false])
    memory.forget('a')
    expect(memory.shouldRecordBegin('a')).toBe(true)
  })
})

describe('ClaimMemory.follows', () => {
  it('a running creation is remembered until it ends, even if its claim is forgotten', () => {
    memory.uncertainCalls.set('a', {} as UncertainCall)
    memory.forget('a')
    expect(memory.mayCallStillRun('a')).toBe(true)
    memory.recordEndOfCall('a')
    expect(memory.mayCallStillRun('a')).toBe(false)
  })
})

describe('ClaimMemory.isFinished', () => {
  it.each<[string, () => void]>([
    ['its next call', () => memory.uncertainCalls.set('a', {} as UncertainCall)],
    ['the success of a later call', () => memory.recordEndOfCall('a')],
    ['the end of the claim', () => memory.forget('a')],
  ])('the finalizer of a claim whose creation has ended counts as left over until %s', (_, change) => {
    expect(memory.isCreationFinished('a')).toBe(false)
    memory.recordFinished('a')
    expect([memory.isCreationFinished('a'), memory.knowsEndOfCall('a'), memory.isCreationFinished('b')]).toEqual([
      true,
      true,
      false,
    ])
    change()
    expect(memory.isCreationFinished('a')).toBe(false)
  })
})

describe('forgetGone', () => {
  const gone = { claims: { store: { byIndex: () => [] } } }
  const present = { claims: { store: { byIndex: () => [{}] } } }

  it.each([
    ['a deleted claim is forgotten', gone, false, 0],
    ['a claim in the cache is remembered', present, false, 1],
    ['a deleted claim whose creation may be running is remembered', gone, true, 2],
  ])('%s', (_, cache, isRunning, size) => {
    const deps = { ...cache, memory, uses: { end: () => {} } }
    memory.shouldRecord('a', 'x')
    if (isRunning) memory.uncertainCalls.set('a', {} as UncertainCall)
    forgetGone('a', deps as unknown as Parameters<typeof forgetGone>[1])
    expect(memory.size).toBe(size)
  })
})

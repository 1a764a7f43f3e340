import { FakeClock } from '@csi-sidecars/base/testing'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { forgetGone } from './forget.ts'
import { ClaimMemory, type UncertainCall, type UnsavedVolume } from './memory.ts'

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

describe('ClaimMemory.unrepeatableForMs', () => {
  it.each<[string, () => void]>([
    ['the end of a call', () => memory.recordEndOfCall('a')],
    ['the end of the claim', () => memory.forget('a')],
  ])(
    'the time in which a creation cannot be repeated starts at the first question, and again after %s',
    async (_, end) => {
      expect(memory.unrepeatableForMs('a')).toBe(0)
      await clock.advance(5)
      expect([memory.unrepeatableForMs('a'), memory.unrepeatableForMs('b')]).toEqual([5, 0])
      await clock.advance(5)
      expect(memory.unrepeatableForMs('a')).toBe(10)
      end()
      expect(memory.unrepeatableForMs('a')).toBe(0)
    },
  )
})

describe('ClaimMemory.forget', () => {
  const node = { baseDelayMs: 1_000, maxDelayMs: 60_000 }

  it('a forgotten claim is unknown: a call of an earlier process may then be running', () => {
    memory.recordRun('a')
    memory.recordEndOfCall('a')
    expect([memory.hasRun('a'), memory.knowsEndOfCall('a')]).toEqual([true, true])
    memory.forget('a')
    expect([memory.hasRun('a'), memory.knowsEndOfCall('a')]).toEqual([false, false])
  })

  it.each<[string, () => void]>([
    ['the end of a call', () => memory.recordEndOfCall('a')],
    ['the end of the claim', () => memory.forget('a')],
  ])('the delay before a node selects itself for a claim is the shortest again after %s', (_, end) => {
    const shortest = memory.selectionDelays.waitMs('a', node)
    memory.selectionDelays.lengthenNext('a')
    expect(memory.selectionDelays.waitMs('a', node)).toBeGreaterThan(shortest)
    end()
    expect(memory.selectionDelays.waitMs('a', node)).toBe(shortest)
  })

  it.each<[string, number, () => void]>([
    ['an infeasible request', 1, () => memory.pauseClaim('a', 'class')],
    ['an event', 1, () => memory.shouldRecord('a', 'x')],
    ['a Provisioning event', 1, () => memory.shouldRecordBegin('a')],
    ['a run', 1, () => memory.recordRun('a')],
    ['the end of a call', 1, () => memory.recordEndOfCall('a')],
    ['the end of the work and of its call', 2, () => memory.recordFinished('a')],
    ['a creation that cannot be repeated', 1, () => memory.unrepeatableForMs('a')],
    ['the check of a node', 1, () => memory.nodeChecks.msUntilCheck('a', 'node-1', 5)],
  ])(
    '%s counts in the size until the claim is forgotten, so that the memory does not grow for ever',
    (_, size, remember) => {
      remember()
      expect(memory.size).toBe(size)
      memory.forget('a')
      expect(memory.size).toBe(0)
    },
  )

  it('an unsaved volume and a running call are kept and count in the size, whatever has happened to the claim', () => {
    memory.unsavedVolumes.set('pv', {} as UnsavedVolume)
    memory.uncertainCalls.set('a', {} as UncertainCall)
    memory.forget('a')
    expect(memory.size).toBe(2)
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

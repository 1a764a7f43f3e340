import { FakeClock } from '@csi-sidecars/base/testing'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { VolumeMemory } from './memory.ts'

let clock: FakeClock
let memory: VolumeMemory

beforeEach(() => {
  clock = new FakeClock()
  memory = new VolumeMemory(clock)
})

describe('VolumeMemory', () => {
  it('a deletion by the driver is remembered for this PersistentVolume alone, until it is forgotten', () => {
    expect(memory.driverHasDeleted('a')).toBe(false)
    memory.recordDeletion('a')
    expect([memory.driverHasDeleted('a'), memory.driverHasDeleted('b')]).toEqual([true, false])
    memory.forget('a')
    expect(memory.driverHasDeleted('a')).toBe(false)
  })

  it('the same event about a volume is recorded again after 15 minutes, or after the volume is forgotten', async () => {
    expect([memory.shouldRecord('a', 'x'), memory.shouldRecord('a', 'x')]).toEqual([true, false])
    await clock.advance(15 * 60_000)
    expect([memory.shouldRecord('a', 'x'), memory.shouldRecord('a', 'x')]).toEqual([true, false])
    memory.forget('a')
    expect(memory.shouldRecord('a', 'x')).toBe(true)
  })
})

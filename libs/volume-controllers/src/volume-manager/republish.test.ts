import { describe, expect, it } from '@jest/globals'
import { ActualState } from './actual-state.ts'
import { isRepublished } from './controller.ts'
import type { MountSource } from './desired-state.ts'

const named = { volumeName: 'v', name: 'data' }
const inline: MountSource = { ...named, is: 'ephemeral', handle: 'h', source: { driver: 'd' } }
const csi: MountSource = {
  ...named,
  is: 'csi',
  csi: { driver: 'd', volumeHandle: 'h' },
  accessModes: [],
  mountOptions: [],
  block: false,
  attach: false,
  claim: 'default/data',
}

describe('an existing mount', () => {
  it.each([
    ['of a driver that asks for it is written again', csi, true, true],
    ['of a driver that does not stays', csi, false, false],
    ['that a pod declares, too', inline, true, true],
    ['that the node makes stays', { ...named, is: 'local' as const, plugin: 'emptyDir' }, true, false],
  ])('%s', (_, source, republishes, expected) => {
    expect(isRepublished(source, () => republishes)).toBe(expected)
  })

  it('publishes each existing mount again once after it is marked as stale', () => {
    const actual = new ActualState()
    actual.mark({ source: csi, podUid: 'a', path: '/a' }, 'mounted')
    actual.mark({ source: csi, podUid: 'b', path: '/b' }, 'uncertain')
    expect([actual.markStale('v'), [...(actual.get('v')?.stale ?? [])]]).toEqual([true, ['a']])
    actual.mark({ source: csi, podUid: 'a', path: '/a' }, 'mounted')
    expect([...(actual.get('v')?.stale ?? [])]).toEqual([])
    expect(actual.markStale('unknown')).toBe(false)
  })
})

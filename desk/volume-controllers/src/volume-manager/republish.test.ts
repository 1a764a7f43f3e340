import { describe, expect, it } from '@jest/globals'
import { ActualState } from './actual-state.ts'
import { isRepublished } from './controller.ts'
import type { MountSource } from './desired-state.ts'

const named = { volumeName: 'v', name: 'data' }
const inline: MountSource = { ...named, kind: 'ephemeral', handle: 'h', source: { driver: 'd' } }
const csi: MountSource = {
  ...named,
  kind: 'csi',
  csi: { driver: 'd', volumeHandle: 'h' },
  accessModes: [],
  mountOptions: [],
  block: false,
  attach: false,
  claim: 'default/data',
}

describe('isRepublished', () => {
  it.each([
    ['returns true if the driver requires it', csi, true, true],
    ['returns false if the driver does not require it', csi, false, false],
    ['returns true for an inline volume, too', inline, true, true],
    ['returns false for a local volume', { ...named, kind: 'local' as const, plugin: 'emptyDir' }, true, false],
  ])('the check for a repeated publish %s', (_, source, republishes, expected) => {
    expect(isRepublished(source, () => republishes)).toBe(expected)
  })

  it('a mounted volume stays marked as stale until it is published again', () => {
    const actual = new ActualState()
    actual.record({ source: csi, podUid: 'a', path: '/a' }, 'mounted')
    actual.record({ source: csi, podUid: 'b', path: '/b' }, 'uncertain')
    expect([actual.markStale('v'), [...(actual.get('v')?.stale ?? [])]]).toEqual([true, ['a']])
    actual.record({ source: csi, podUid: 'a', path: '/a' }, 'mounted')
    expect([...(actual.get('v')?.stale ?? [])]).toEqual([])
    expect(actual.markStale('unknown')).toBe(false)
  })
})

import { describe, expect, it } from '@jest/globals'
import type { SwapChange } from './change.ts'
import { CHANGES } from './changes/all.ts'
import { concerns } from './concerns.ts'

function changeOf(id: string): SwapChange {
  const change = CHANGES.find((each) => each.id === id)
  if (change === undefined) throw new Error(`no change ${id}`)
  return change
}

const topology = changeOf('provisioner-topology')
const TOPOLOGY = new Set(['VOLUME_ACCESSIBILITY_CONSTRAINTS'])

describe('concerns', () => {
  it('a given gate Topology excludes the change, whatever its value', () => {
    for (const value of [true, false]) {
      expect(concerns(topology, { gates: new Map([['Topology', value]]), capabilities: TOPOLOGY })).toBe('no')
    }
  })

  it('a driver with topology and an unset gate is concerned', () => {
    expect(concerns(topology, { gates: new Map(), capabilities: TOPOLOGY })).toBe('yes')
  })

  it('a driver without topology is not concerned, although the gate is unknown', () => {
    expect(concerns(topology, { capabilities: new Set() })).toBe('no')
  })

  it('unknown capabilities leave the answer open', () => {
    expect(concerns(topology, { gates: new Map() })).toBe('unknown')
  })

  it.each([
    ['v1.33.9', 'yes'],
    ['v1.34.0-rc.1', 'no'],
    ['v1.34.1+k3s1', 'no'],
    ['1.9', 'yes'],
    ['unreadable', 'unknown'],
  ] as const)('a class is read as v1 from 1.34 on: %s', (kubernetes, answer) => {
    const gates = new Map([['VolumeAttributesClass', true]])
    expect(concerns(changeOf('provisioner-attributes-class-api'), { gates, kubernetes })).toBe(answer)
  })

  it('one of several flags is enough', () => {
    const change = changeOf('attacher-klog-flags')
    expect(concerns(change, { flags: new Set(['v', 'logtostderr']) })).toBe('yes')
    expect(concerns(change, { flags: new Set(['v']) })).toBe('no')
  })

  it('a change without conditions concerns every installation', () => {
    expect(concerns(changeOf('provisioner-patch-volumes'), {})).toBe('yes')
  })

  it('an in-tree plugin and a served resource are facts, too', () => {
    expect(concerns(changeOf('attacher-migrated-label'), { migrated: false })).toBe('no')
    const groups = changeOf('snapshotter-groups-gate')
    expect(concerns(groups, { gates: new Map(), resources: new Set(['volumegroupsnapshotcontents']) })).toBe('yes')
  })

  it('the value of a gate counts where the change names one', () => {
    const change = changeOf('resizer-recover-off')
    expect(concerns(change, { gates: new Map([['RecoverVolumeExpansionFailure', false]]) })).toBe('yes')
    expect(concerns(change, { gates: new Map([['RecoverVolumeExpansionFailure', true]]) })).toBe('no')
    expect(concerns(change, { flags: new Set() })).toBe('unknown')
  })

  it('a flag that is not given matters for defaults', () => {
    const change = changeOf('attacher-default-fstype')
    expect(concerns(change, { flags: new Set() })).toBe('yes')
    expect(concerns(change, { flags: new Set(['default-fstype']) })).toBe('no')
  })
})

import { describe, expect, it } from '@jest/globals'
import { Monitor, type Sighting } from './monitor.ts'

const V = 'kubernetes.io/csi/csi.example.com^vol-1'
const call = { volumeId: 'vol-1', nodeId: 'node-1' }
const va = { name: 'va', nodeId: 'node-1', volumeId: 'vol-1' }
const node = (volumesAttached: string[], volumesInUse: string[]): Sighting => ({
  kind: 'node',
  node: 'node-1',
  volumesAttached,
  volumesInUse,
})

function violations(sightings: readonly Sighting[]): readonly string[] {
  const monitor = new Monitor()
  for (const sighting of sightings) monitor.see(sighting)
  return monitor.violations
}

describe('Monitor', () => {
  it('the chaos monitor accepts the attach, the use and the detach of a volume', () => {
    const life: Sighting[] = [
      { kind: 'publishing', ...call, present: [], shared: false },
      node([], [V]),
      node([V], [V]),
      node([V], []),
      node([], []),
      { kind: 'attachmentDeleted', ...va },
      { kind: 'unpublishing', ...call, mountedAt: [] },
    ]
    expect(violations(life)).toEqual([])
  })

  it('the chaos monitor reports a ReadWriteOnce volume that is published to a second node', () => {
    expect(violations([{ kind: 'publishing', ...call, present: ['node-2'], shared: false }])).toEqual([
      'volume vol-1 was to be published to node-1 while it is on node-2',
    ])
  })

  it('the chaos monitor accepts a ReadWriteMany volume that is published to a second node', () => {
    expect(violations([{ kind: 'publishing', ...call, present: ['node-2'], shared: true }])).toEqual([])
  })

  it('the chaos monitor reports an unpublish of a volume that is still mounted', () => {
    expect(violations([{ kind: 'unpublishing', ...call, mountedAt: ['/x'] }])).toEqual([
      'volume vol-1 was unpublished from node-1 while it is mounted at /x',
    ])
  })

  it('the chaos monitor reports a deleted attachment if the node used the volume before the detach and still uses it', () => {
    expect(violations([node([V], [V]), node([], [V]), { kind: 'attachmentDeleted', ...va }])).toEqual([
      'va was deleted while node-1 says that it uses volume vol-1',
    ])
  })

  it('the chaos monitor reports a deleted attachment if the node status lists the volume as attached and in use', () => {
    expect(violations([node([V], []), node([V], [V]), { kind: 'attachmentDeleted', ...va }])).toHaveLength(1)
  })

  it('the chaos monitor accepts a deleted attachment if the node began to use the volume only after the detach', () => {
    expect(violations([node([V], []), node([], []), node([], [V]), { kind: 'attachmentDeleted', ...va }])).toEqual([])
  })

  it('the chaos monitor reports a deletion of a snapshot whose content object is kept', () => {
    expect(violations([{ kind: 'snapshotDeleting', id: 'snap-1', content: 'snapcontent-1' }])).toEqual([
      'snapshot snap-1 was to be deleted while snapcontent-1 is kept',
    ])
  })

  it('the chaos monitor reports a snapshot that is requested of two volumes', () => {
    const of = (source: string): Sighting => ({ kind: 'snapshotting', snapshot: 'snapshot-1', source })
    expect(violations([of('vol-1'), of('vol-1')])).toEqual([])
    expect(violations([of('vol-1'), of('vol-2')])).toEqual([
      'snapshot-1 was to be taken of volume vol-2, first of vol-1',
    ])
  })

  it('the chaos monitor reports a claim whose size shrinks', () => {
    const sizes = ['1Gi', '2Gi', '2048Mi', '1Gi'].map(
      (size): Sighting => ({ kind: 'size', of: 'claim default/data', size }),
    )
    expect(violations(sizes)).toEqual(['claim default/data shrank from 2048Mi to 1Gi'])
  })
})

import { describe, expect, it } from '@jest/globals'
import { boundPair, claim } from '../testing/objects.ts'
import { decideExpand, hasGrown } from './decide.ts'

const MORE = { request: '2Gi' }
const EBS = {
  csi: undefined,
  inTree: {
    is: 'migrated' as const,
    plugin: 'kubernetes.io/aws-ebs',
    csi: { driver: 'ebs.csi.aws.com', volumeHandle: 'vol-1' },
    accessModes: [],
  },
}
const RESIZER = 'volume.kubernetes.io/storage-resizer'
const migrated = {
  do: 'report',
  message: 'CSI migration enabled for kubernetes.io/aws-ebs; waiting for external resizer to expand the pvc',
}

describe('the expander', () => {
  it.each([
    ['says nothing of a claim that has what it asks for', boundPair(), []],
    [
      'says who is waited for',
      boundPair({ claim: MORE }),
      [{ do: 'report', message: 'waiting for an external controller to expand this PVC' }],
    ],
    [
      'says it also while the file system is behind',
      boundPair({ volume: { annotations: { 'volume.alpha.kubernetes.io/pre-resize-capacity': '1Gi' } } }),
      [{ do: 'report', message: 'waiting for an external controller to expand this PVC' }],
    ],
    [
      'names the resizer that has taken over',
      boundPair({ claim: MORE, volume: EBS }),
      [migrated, { do: 'nameResizer', driver: 'ebs.csi.aws.com' }],
    ],
    [
      'names it once',
      boundPair({ claim: { ...MORE, annotations: { [RESIZER]: 'ebs.csi.aws.com' } }, volume: EBS }),
      [migrated],
    ],
    [
      'waits for the volume',
      { claim: claim({ ...MORE, volumeName: 'pv-1' }), volume: undefined },
      [{ do: 'fail', message: 'there is no volume pv-1 yet' }],
    ],
    [
      'waits for the binding',
      boundPair({ claim: MORE, volume: { claimRef: undefined } }),
      [{ do: 'fail', message: 'persistent Volume is not bound to PVC being updated : default/data' }],
    ],
  ])('%s', (_, view, steps) => {
    expect(decideExpand(view)).toEqual(steps)
  })

  it.each([
    ['the request', claim(), claim({ request: '1025Mi' }), true],
    ['the capacity', claim(), claim({ capacity: '1Gi' }), true],
    ['neither', claim({ request: '2Gi', capacity: '2Gi' }), claim({ request: '1Gi', capacity: '2048Mi' }), false],
  ])('looks when more is there of %s', (_, before, after, looks) => {
    expect(hasGrown(before, after)).toBe(looks)
  })
})

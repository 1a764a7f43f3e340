import { describe, expect, it } from '@jest/globals'
import { boundPair, claim } from '../testing/objects.ts'
import { decideExpand, hasGrown } from './decide.ts'

const MORE = { request: '2Gi' }
const WAITS = { do: 'report', message: 'waiting for an external controller to expand this PVC' }

describe('the expander', () => {
  it.each([
    ['says nothing of a claim that has what it asks for', boundPair(), undefined],
    ['says who is waited for', boundPair({ claim: MORE }), WAITS],
    [
      'says it also while the file system is behind',
      boundPair({ volume: { annotations: { 'volume.alpha.kubernetes.io/pre-resize-capacity': '1Gi' } } }),
      WAITS,
    ],
    [
      'waits for the volume',
      { claim: claim({ ...MORE, volumeName: 'pv-1' }), volume: undefined },
      { do: 'fail', message: 'there is no volume pv-1 yet' },
    ],
    [
      'waits for the binding',
      boundPair({ claim: MORE, volume: { claimRef: undefined } }),
      { do: 'fail', message: 'persistent Volume is not bound to PVC being updated : default/data' },
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

import { describe, expect, it } from '@jest/globals'
import { boundPair, claim } from '../testing/objects.ts'
import { decideExpand, hasGrown } from './decide.ts'

const MORE = { request: '2Gi' }
const WAITS = { kind: 'report', message: 'waiting for an external controller to expand this PVC' }

describe('the expander', () => {
  it.each([
    ['does nothing if the claim has the requested size', boundPair(), undefined],
    ['records that an external controller must expand', boundPair({ claim: MORE }), WAITS],
    [
      'records the event until the file system is expanded',
      boundPair({ volume: { annotations: { 'volume.alpha.kubernetes.io/pre-resize-capacity': '1Gi' } } }),
      WAITS,
    ],
    [
      'fails if the volume is missing',
      { claim: claim({ ...MORE, volumeName: 'pv-1' }), volume: undefined },
      { kind: 'fail', message: 'there is no volume pv-1 yet' },
    ],
    [
      'fails if the volume is not bound to the claim',
      boundPair({ claim: MORE, volume: { claimRef: undefined } }),
      { kind: 'fail', message: 'persistent Volume is not bound to PVC being updated : default/data' },
    ],
  ])('the expander %s', (_, view, steps) => {
    expect(decideExpand(view)).toEqual(steps)
  })

  it.each([
    ['the request', claim(), claim({ request: '1025Mi' }), true],
    ['the capacity', claim(), claim({ capacity: '1Gi' }), true],
    ['nothing', claim({ request: '2Gi', capacity: '2Gi' }), claim({ request: '1Gi', capacity: '2048Mi' }), false],
  ])('`hasGrown` detects the growth of %s', (_, before, after, looks) => {
    expect(hasGrown(before, after)).toBe(looks)
  })
})

import type { InformerEvent } from '@csi-sidecars/informer'
import { describe, expect, it } from '@jest/globals'
import { type Claim, projectClaim } from '../caches/claim.ts'
import { type ClaimParts, claim } from '../testing/builders.ts'
import { onClaim } from './triggers.ts'

const known = (parts: ClaimParts = {}): Claim => projectClaim(claim(parts))

function updated(
  before: ClaimParts,
  after: ClaimParts,
  cause: 'watch' | 'own' | 'resync' = 'watch',
): InformerEvent<Claim> {
  return { type: 'updated', before: known(before), after: known(after), cause }
}

const resizer = { 'volume.kubernetes.io/storage-resizer': 'x' }

describe('the size of a claim is looked at', () => {
  it.each<[what: string, event: InformerEvent<Claim>]>([
    ['when the claim is seen first', { type: 'added', object: known() }],
    ['at each resync', updated({}, {}, 'resync')],
    ['when the request grows', updated({}, { request: '2Gi' })],
    ['when the request shrinks', updated({ request: '2Gi' }, { request: '1536Mi' })],
    ['when the request becomes no size', updated({}, { request: 'much' })],
    ['when it gets another resizer', updated({}, { annotations: resizer })],
    ['when its capacity grows', updated({}, { capacity: '2Gi' })],
    ['when it gets a capacity', updated({ capacity: null }, { capacity: '1Gi' })],
    ['when its capacity is a size again', updated({ capacity: 'much' }, {})],
    [
      'when it gets another volume',
      { type: 'updated', before: { ...known(), volumeName: 'x' }, after: known(), cause: 'watch' },
    ],
    ['when it is bound', updated({ status: { phase: 'Pending' } }, {})],
    ['when the node begins', updated({ sizeStatus: 'NodeResizePending' }, { sizeStatus: 'NodeResizeInProgress' })],
    ['when the node fails', updated({ sizeStatus: 'NodeResizePending' }, { sizeStatus: 'NodeResizeInfeasible' })],
    ['when somebody takes the status word away', updated({ sizeStatus: 'NodeResizeInfeasible' }, {})],
    ['when our own write shows a larger request', updated({}, { request: '2Gi' }, 'own')],
    ['when somebody else says that it began', updated({}, { sizeStatus: 'ControllerResizeInProgress' })],
    ['when somebody else leaves it to the node', updated({}, { sizeStatus: 'NodeResizePending' })],
  ])('%s', (_what, event) => expect(onClaim(() => false)(event)).toEqual(['ns/data']))

  it.each<[what: string, event: InformerEvent<Claim>]>([
    ['when it is gone', { type: 'deleted', object: known() }],
    ['when the request is written in other words', updated({ request: '1Gi' }, { request: '1024Mi' })],
    ['when its request stays no size', updated({ request: 'much' }, { request: 'much', wantedClass: 'gold' })],
    ['when its capacity stays no size', updated({ capacity: 'much' }, { capacity: 'much', wantedClass: 'gold' })],
    ['when its capacity is written in other words', updated({ capacity: '1Gi' }, { capacity: '1024Mi' })],
    ['when nothing becomes zero', updated({ capacity: null }, { capacity: '0' })],
    ['when its capacity shrinks', updated({ capacity: '2Gi' }, {})],
    [
      'when labels, other annotations or conditions change',
      updated({}, { annotations: { mine: 'x' }, status: { conditions: [{ type: 'Resizing', status: 'True' }] } }),
    ],
    ['when it wants another class', updated({}, { wantedClass: 'gold' })],
    ['when we begin', updated({}, { sizeStatus: 'ControllerResizeInProgress' }, 'own')],
    [
      'when the watch is faster than the answer to our beginning',
      updated({}, { sizeStatus: 'ControllerResizeInProgress' }),
    ],
    ['when we call it infeasible', updated({}, { sizeStatus: 'ControllerResizeInfeasible' }, 'own')],
    ['when we leave it to the node', updated({}, { sizeStatus: 'NodeResizePending' }, 'own')],
  ])('not %s', (_what, event) => expect(onClaim(() => true)(event)).toEqual([]))
})

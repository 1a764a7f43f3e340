import type { PersistentVolumeClaim } from '@csi-sidecars/kube-types'
import { describe, expect, it } from '@jest/globals'
import type { Claim } from '../caches/claim.ts'
import { boundPair } from '../testing/objects.ts'
import {
  decideExpansion,
  type Expansion,
  failedPatch,
  finishedPatch,
  hasGrown,
  inProgressPatch,
  wantsOtherSize,
} from './expand.ts'

const bound = (change: Partial<Claim> = {}): Claim => boundPair({ claim: change }).claim

describe('decideExpansion', () => {
  const rows: { name: string; claim: Partial<Claim>; plan: Expansion }[] = [
    {
      name: 'expands a volume that waits for the node',
      claim: { resizeStatus: 'NodeResizePending', allocated: '2Gi' },
      plan: { do: 'expand', size: '2Gi', own: true },
    },
    {
      name: 'continues what was begun',
      claim: { resizeStatus: 'NodeResizeInProgress', allocated: '2Gi' },
      plan: { do: 'expand', size: '2Gi', own: true },
    },
    {
      name: 'expands to what was allocated, whatever the volume has',
      claim: { resizeStatus: 'NodeResizePending', allocated: '1536Mi' },
      plan: { do: 'expand', size: '1536Mi', own: true },
    },
    {
      name: 'waits while the controller is at it',
      claim: { resizeStatus: 'ControllerResizeInProgress', allocated: '2Gi' },
      plan: { do: 'wait' },
    },
    {
      name: 'waits when the size can never be had',
      claim: { resizeStatus: 'NodeResizeInfeasible', allocated: '2Gi' },
      plan: { do: 'wait' },
    },
    { name: "waits between the controller's two writes", claim: { allocated: '2Gi' }, plan: { do: 'wait' } },
    {
      name: 'has nothing to do where the claim has its size',
      claim: { allocated: '2Gi', capacity: '2Gi' },
      plan: { do: 'done', size: '2Gi' },
    },
    {
      name: 'follows on each node of a volume of many',
      claim: { allocated: '2Gi', capacity: '2Gi', accessModes: ['ReadWriteMany'] },
      plan: { do: 'expand', size: '2Gi', own: false },
    },
    {
      name: 'follows nowhere when the driver needs no node',
      claim: {
        allocated: '2Gi',
        capacity: '2Gi',
        accessModes: ['ReadWriteMany'],
        annotations: { 'volume.kubernetes.io/node-expansion-not-required': 'true' },
      },
      plan: { do: 'done', size: '2Gi' },
    },
    { name: 'expands for an old resizer that says nothing', claim: {}, plan: { do: 'expand', size: '2Gi', own: true } },
  ]
  it.each(rows)('$name', (row) => {
    expect(decideExpansion(bound(row.claim), '2Gi')).toEqual(row.plan)
  })
})

describe('hasGrown', () => {
  const waiting = bound({ resizeStatus: 'NodeResizePending', allocated: '2Gi' })
  const actual = (change: object) =>
    ({ claimSize: undefined, expansion: 'open', ...change }) as Parameters<typeof hasGrown>[2]

  it('returns true if the volume is larger than its claim', () => {
    expect(hasGrown('2Gi', waiting, undefined)).toBe(true)
  })

  it.each([
    ["a volume of the claim's size", '1Gi', waiting, undefined],
    ['one that this node has expanded already', '2Gi', waiting, actual({ claimSize: '2Gi' })],
    ['one that the driver will not expand in use', '2Gi', waiting, actual({ expansion: 'inUse' })],
    [
      "one that is not the node's turn",
      '2Gi',
      bound({ resizeStatus: 'ControllerResizeInProgress', allocated: '2Gi' }),
      undefined,
    ],
    ['one without a claim', '2Gi', undefined, undefined],
  ] as const)('returns false for %s', (_, capacity, claim, state) => {
    expect(hasGrown(capacity, claim, state)).toBe(false)
  })
})

const wire = (status: PersistentVolumeClaim['status']): PersistentVolumeClaim => ({
  metadata: { name: 'data', namespace: 'default', resourceVersion: '7' },
  spec: { resources: { requests: { storage: '2Gi' } } },
  status,
})

const condition = (type: string) => ({ type, status: 'True', lastProbeTime: null })

describe('what the node writes into the claim', () => {
  it('records the beginning, guarded by the version that it has read', () => {
    const claim = wire({ allocatedResourceStatuses: { storage: 'NodeResizePending' } })
    expect(inProgressPatch(claim)).toEqual({
      kind: 'strategic',
      body: {
        metadata: { resourceVersion: '7' },
        status: { allocatedResourceStatuses: { storage: 'NodeResizeInProgress' } },
      },
    })
  })

  it('gives the claim its size and removes only the pending condition', () => {
    const claim = wire({
      capacity: { storage: '1Gi' },
      allocatedResources: { storage: '2Gi' },
      allocatedResourceStatuses: { storage: 'NodeResizeInProgress' },
      conditions: [condition('FileSystemResizePending'), condition('Other')],
    })
    expect(finishedPatch(claim, '2Gi')).toEqual({
      kind: 'strategic',
      body: {
        metadata: { resourceVersion: '7' },
        status: {
          capacity: { storage: '2Gi' },
          allocatedResourceStatuses: { storage: null },
          '$setElementOrder/conditions': [{ type: 'Other' }],
          conditions: [{ $patch: 'delete', type: 'FileSystemResizePending' }],
        },
      },
    })
  })

  it('leaves the states of other resources alone', () => {
    const claim = wire({
      allocatedResourceStatuses: { storage: 'NodeResizeInProgress', 'example.com/x': 'NodeResizePending' },
    })
    expect(finishedPatch(claim, '2Gi').body).toMatchObject({ status: { allocatedResourceStatuses: { storage: null } } })
  })

  it('records an error without a guard, and of one that is final for the size', () => {
    const claim = wire({ allocatedResourceStatuses: { storage: 'NodeResizeInProgress' } })
    const failure = { message: 'rpc error: code = OutOfRange desc = no', infeasible: true, now: 1_700_000_000_000 }
    expect(failedPatch(claim, failure)).toEqual({
      kind: 'strategic',
      body: {
        status: {
          allocatedResourceStatuses: { storage: 'NodeResizeInfeasible' },
          conditions: [
            {
              type: 'NodeResizeError',
              status: 'True',
              lastProbeTime: null,
              lastTransitionTime: '2023-11-14T22:13:20Z',
              message: 'failed to expand pvc with rpc error: code = OutOfRange desc = no',
            },
          ],
        },
      },
    })
  })

  it('keeps the word after an error that may pass', () => {
    const claim = wire({ allocatedResourceStatuses: { storage: 'NodeResizeInProgress' } })
    expect(failedPatch(claim, { message: 'x', infeasible: false, now: 0 }).body).not.toHaveProperty(
      'status.allocatedResourceStatuses',
    )
  })

  it('knows when another size is wanted by now', () => {
    expect([
      wantsOtherSize(wire({}), '2Gi'),
      wantsOtherSize(wire({}), '2048Mi'),
      wantsOtherSize(wire({}), '3Gi'),
    ]).toEqual([false, false, true])
  })
})

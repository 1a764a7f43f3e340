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
      plan: { kind: 'expand', size: '2Gi', byNode: true },
    },
    {
      name: 'continues an expansion in progress',
      claim: { resizeStatus: 'NodeResizeInProgress', allocated: '2Gi' },
      plan: { kind: 'expand', size: '2Gi', byNode: true },
    },
    {
      name: 'expands to the allocated size, even if the volume is larger',
      claim: { resizeStatus: 'NodeResizePending', allocated: '1536Mi' },
      plan: { kind: 'expand', size: '1536Mi', byNode: true },
    },
    {
      name: 'waits while the controller expands the volume',
      claim: { resizeStatus: 'ControllerResizeInProgress', allocated: '2Gi' },
      plan: { kind: 'wait' },
    },
    {
      name: 'waits if the size is infeasible',
      claim: { resizeStatus: 'NodeResizeInfeasible', allocated: '2Gi' },
      plan: { kind: 'wait' },
    },
    { name: 'waits until the controller sets a status', claim: { allocated: '2Gi' }, plan: { kind: 'wait' } },
    {
      name: 'returns done if the claim has the size',
      claim: { allocated: '2Gi', capacity: '2Gi' },
      plan: { kind: 'done', size: '2Gi' },
    },
    {
      name: 'expands a ReadWriteMany volume on each node',
      claim: { allocated: '2Gi', capacity: '2Gi', accessModes: ['ReadWriteMany'] },
      plan: { kind: 'expand', size: '2Gi', byNode: false },
    },
    {
      name: 'returns done if the driver needs no node expansion',
      claim: {
        allocated: '2Gi',
        capacity: '2Gi',
        accessModes: ['ReadWriteMany'],
        annotations: { 'volume.kubernetes.io/node-expansion-not-required': 'true' },
      },
      plan: { kind: 'done', size: '2Gi' },
    },
    {
      name: 'expands for an old resizer without states',
      claim: {},
      plan: { kind: 'expand', size: '2Gi', byNode: true },
    },
  ]
  it.each(rows)('the kubelet $name', (row) => {
    expect(decideExpansion(bound(row.claim), '2Gi')).toEqual(row.plan)
  })
})

describe('hasGrown', () => {
  const waiting = bound({ resizeStatus: 'NodeResizePending', allocated: '2Gi' })
  const actual = (change: object) =>
    ({ claimSize: undefined, expansion: 'open', ...change }) as Parameters<typeof hasGrown>[2]

  it('a volume counts as grown if it is larger than its claim', () => {
    expect(hasGrown('2Gi', waiting, undefined)).toBe(true)
  })

  it.each([
    ["a volume of the claim's size", '1Gi', waiting, undefined],
    ['a volume that this node has expanded', '2Gi', waiting, actual({ claimSize: '2Gi' })],
    ['a volume that the driver does not expand in use', '2Gi', waiting, actual({ expansion: 'inUse' })],
    [
      'a volume that the controller still expands',
      '2Gi',
      bound({ resizeStatus: 'ControllerResizeInProgress', allocated: '2Gi' }),
      undefined,
    ],
    ['a volume without a claim', '2Gi', undefined, undefined],
  ] as const)('`hasGrown` returns false for %s', (_, capacity, claim, state) => {
    expect(hasGrown(capacity, claim, state)).toBe(false)
  })
})

const wire = (status: PersistentVolumeClaim['status']): PersistentVolumeClaim => ({
  metadata: { name: 'data', namespace: 'default', resourceVersion: '7' },
  spec: { resources: { requests: { storage: '2Gi' } } },
  status,
})

const condition = (type: string) => ({ type, status: 'True', lastProbeTime: null })

describe('claim patches', () => {
  it('the patch for the start of an expansion contains the resource version of the claim', () => {
    const claim = wire({ allocatedResourceStatuses: { storage: 'NodeResizePending' } })
    expect(inProgressPatch(claim)).toEqual({
      kind: 'strategic',
      body: {
        metadata: { resourceVersion: '7' },
        status: { allocatedResourceStatuses: { storage: 'NodeResizeInProgress' } },
      },
    })
  })

  it('the patch for the end of an expansion sets the size and removes only the resize conditions', () => {
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

  it('the patch for the end of an expansion keeps the states of other resources', () => {
    const claim = wire({
      allocatedResourceStatuses: { storage: 'NodeResizeInProgress', 'example.com/x': 'NodeResizePending' },
    })
    expect(finishedPatch(claim, '2Gi').body).toMatchObject({ status: { allocatedResourceStatuses: { storage: null } } })
  })

  it('the patch for a failed expansion has no resource version, and may mark the size as infeasible', () => {
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

  it('the patch for a temporary failure of an expansion keeps the resize status', () => {
    const claim = wire({ allocatedResourceStatuses: { storage: 'NodeResizeInProgress' } })
    expect(failedPatch(claim, { message: 'x', infeasible: false, now: 0 }).body).not.toHaveProperty(
      'status.allocatedResourceStatuses',
    )
  })

  it('the kubelet compares sizes by their value, not by their spelling', () => {
    expect([
      wantsOtherSize(wire({}), '2Gi'),
      wantsOtherSize(wire({}), '2048Mi'),
      wantsOtherSize(wire({}), '3Gi'),
    ]).toEqual([false, false, true])
  })
})

import { Quantity } from '@csi-sidecars/kube-types'
import { describe, expect, it } from '@jest/globals'
import { type Progress, targetOf } from './target.ts'

interface Row {
  readonly rule: string
  readonly request: string
  readonly volume: string
  readonly allocated?: string
  readonly status?: string
  readonly progress?: Partial<Progress>
  /** The expected size. Undefined if there is nothing to do. */
  readonly size: string | undefined
}

const IN_PROGRESS = 'ControllerResizeInProgress'
const INFEASIBLE = 'ControllerResizeInfeasible'
const NODE_PENDING = 'NodeResizePending'
const NODE_IN_PROGRESS = 'NodeResizeInProgress'
const NODE_INFEASIBLE = 'NodeResizeInfeasible'

/** Cases in which the volume is smaller than the request. */
const A: readonly Row[] = [
  { rule: 'expandToRequest', request: '3Gi', volume: '1Gi', size: '3Gi' },
  { rule: 'expandToRequest', request: '3Gi', volume: '1Gi', allocated: '2Gi', size: '3Gi' },
  { rule: 'expandToRequest', request: '3Gi', volume: '1Gi', allocated: '2Gi', status: 'SomethingNew', size: '3Gi' },
  { rule: 'replaceRefusedSize', request: '2Gi', volume: '1Gi', allocated: '5Gi', status: INFEASIBLE, size: '2Gi' },
  { rule: 'resumeExpansion', request: '3Gi', volume: '1Gi', allocated: '2Gi', status: IN_PROGRESS, size: '2Gi' },
  { rule: 'resumeExpansion', request: '3Gi', volume: '1Gi', status: IN_PROGRESS, size: '3Gi' },
  {
    rule: 'resumeExpansion',
    request: '2Gi',
    volume: '1Gi',
    allocated: '5Gi',
    status: IN_PROGRESS,
    progress: { finallyFailed: true },
    size: '2Gi',
  },
  {
    rule: 'awaitNodeBeforeRequest',
    request: '3Gi',
    volume: '1Gi',
    allocated: '2Gi',
    status: NODE_PENDING,
    size: '2Gi',
  },
  {
    rule: 'awaitNodeBeforeRequest',
    request: '3Gi',
    volume: '2Gi',
    allocated: '2Gi',
    status: NODE_PENDING,
    size: undefined,
  },
  {
    rule: 'awaitNodeBeforeRequest',
    request: '3Gi',
    volume: '2Gi',
    allocated: '2Gi',
    status: NODE_IN_PROGRESS,
    size: undefined,
  },
  { rule: 'awaitNodeBeforeRequest', request: '3Gi', volume: '2Gi', status: NODE_IN_PROGRESS, size: '3Gi' },
  {
    rule: 'repeatSizeThatNodeRefused',
    request: '3Gi',
    volume: '2Gi',
    allocated: '2Gi',
    status: NODE_INFEASIBLE,
    size: '2Gi',
  },
  { rule: 'repeatSizeThatNodeRefused', request: '3Gi', volume: '2Gi', status: NODE_INFEASIBLE, size: '3Gi' },
  // The volume was recreated smaller than the size that the kubelet should finish. The driver refuses that size.
  ...[NODE_PENDING, NODE_INFEASIBLE].map((status) => ({
    rule: status === NODE_PENDING ? 'awaitNodeBeforeRequest' : 'repeatSizeThatNodeRefused',
    request: '3Gi',
    volume: '1Gi',
    allocated: '2Gi',
    status,
    progress: { finallyFailed: true },
    size: '3Gi',
  })),
]

/** Cases in which the volume is as large as the request, or larger. */
const B: readonly Row[] = [
  { rule: 'awaitNode', request: '2Gi', volume: '2Gi', allocated: '2Gi', status: NODE_PENDING, size: undefined },
  { rule: 'awaitNode', request: '2Gi', volume: '3Gi', allocated: '3Gi', status: NODE_IN_PROGRESS, size: undefined },
  {
    rule: 'repeatUnlessOnlyNodesExpand',
    request: '2Gi',
    volume: '3Gi',
    allocated: '3Gi',
    status: NODE_INFEASIBLE,
    size: '3Gi',
  },
  { rule: 'repeatUnlessOnlyNodesExpand', request: '2Gi', volume: '3Gi', status: NODE_INFEASIBLE, size: '2Gi' },
  {
    rule: 'repeatUnlessOnlyNodesExpand',
    request: '2Gi',
    volume: '3Gi',
    allocated: '3Gi',
    status: NODE_INFEASIBLE,
    progress: { driverExpands: false },
    size: '2Gi',
  },
  {
    rule: 'repeatUnlessOnlyNodesExpand',
    request: '2Gi',
    volume: '3Gi',
    allocated: '4Gi',
    status: NODE_INFEASIBLE,
    progress: { finallyFailed: true },
    size: '2Gi',
  },
  { rule: 'saveExpansion', request: '2Gi', volume: '3Gi', allocated: '3Gi', status: IN_PROGRESS, size: '3Gi' },
  { rule: 'saveExpansion', request: '2Gi', volume: '3Gi', status: IN_PROGRESS, size: '2Gi' },
  {
    rule: 'saveExpansion',
    request: '2Gi',
    volume: '2Gi',
    allocated: '5Gi',
    status: IN_PROGRESS,
    progress: { finallyFailed: true },
    size: '2Gi',
  },
  {
    rule: 'saveExpansion',
    request: '2Gi',
    volume: '3Gi',
    allocated: '3Gi',
    status: INFEASIBLE,
    progress: { finallyFailed: true },
    size: '2Gi',
  },
  { rule: 'replaceRefusedSize', request: '2Gi', volume: '2Gi', allocated: '5Gi', status: INFEASIBLE, size: '2Gi' },
  { rule: 'replaceRefusedSize', request: '2Gi', volume: '3Gi', allocated: '5Gi', status: INFEASIBLE, size: '2Gi' },
  { rule: 'saveExpansion', request: '2Gi', volume: '3Gi', allocated: '3Gi', status: INFEASIBLE, size: '3Gi' },
  { rule: 'saveExpansion', request: '2Gi', volume: '4Gi', allocated: '3Gi', status: INFEASIBLE, size: '3Gi' },
  { rule: 'saveExpansion', request: '2Gi', volume: '3Gi', status: INFEASIBLE, size: '2Gi' },
  { rule: 'saveExpansion', request: '2Gi', volume: '2Gi', allocated: '5Gi', status: IN_PROGRESS, size: '5Gi' },
  { rule: 'continueToRecordedSize', request: '2Gi', volume: '2Gi', allocated: '2Gi', size: '2Gi' },
  { rule: 'continueToRecordedSize', request: '4Gi', volume: '9Gi', allocated: '2Gi', size: '2Gi' },
  // The claim already has the recorded size of 1Gi: the recorded expansion is finished.
  { rule: 'replaceEditedCapacity', request: '2Gi', volume: '9Gi', allocated: '1Gi', size: '2Gi' },
  { rule: 'expandUnlessNodePending', request: '2Gi', volume: '2Gi', size: '2Gi' },
  {
    rule: 'expandUnlessNodePending',
    request: '2Gi',
    volume: '2Gi',
    progress: { nodeStepPending: true },
    size: undefined,
  },
  {
    rule: 'expandUnlessNodePending',
    request: '2Gi',
    volume: '2Gi',
    allocated: '3Gi',
    status: 'SomethingNew',
    size: '2Gi',
  },
]

describe('targetOf', () => {
  it.each([...A, ...B])(
    'the resizer chooses the size by rule $rule for request $request, volume $volume, allocated $allocated, status $status',
    (row) => {
      const { request, volume, allocated, status, progress } = row
      const sizes = {
        request: Quantity.parse(request),
        capacity: Quantity.parse('1Gi'),
        volume: Quantity.parse(volume),
        allocated: allocated === undefined ? undefined : Quantity.parse(allocated),
      }
      const base: Progress = { status, finallyFailed: false, driverExpands: true, nodeStepPending: false }
      const target = targetOf(sizes, { ...base, ...progress })
      expect({ rule: target.rule, size: target.size?.toString() }).toEqual({ rule: row.rule, size: row.size })
    },
  )

  it('`targetOf` compares sizes as amounts, not as texts', () => {
    const sizes = {
      request: Quantity.parse('2048Mi'),
      capacity: Quantity.parse('1Gi'),
      volume: Quantity.parse('2Gi'),
      allocated: Quantity.parse('2Gi'),
    }
    const progress: Progress = {
      status: 'NodeResizePending',
      finallyFailed: false,
      driverExpands: true,
      nodeStepPending: false,
    }
    expect(targetOf(sizes, progress)).toEqual({ rule: 'awaitNode', size: undefined })
  })
})

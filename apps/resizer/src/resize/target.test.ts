import { Quantity } from '@csi-sidecars/kube-types'
import { describe, expect, it } from '@jest/globals'
import { type Progress, targetOf } from './target.ts'

interface Row {
  readonly row: string
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
  { row: 'A1', request: '3Gi', volume: '1Gi', size: '3Gi' },
  { row: 'A1', request: '3Gi', volume: '1Gi', allocated: '2Gi', size: '3Gi' },
  { row: 'A1', request: '3Gi', volume: '1Gi', allocated: '2Gi', status: 'SomethingNew', size: '3Gi' },
  { row: 'A2', request: '2Gi', volume: '1Gi', allocated: '5Gi', status: INFEASIBLE, size: '2Gi' },
  { row: 'A3', request: '3Gi', volume: '1Gi', allocated: '2Gi', status: IN_PROGRESS, size: '2Gi' },
  { row: 'A3', request: '3Gi', volume: '1Gi', status: IN_PROGRESS, size: '3Gi' },
  {
    row: 'A3',
    request: '2Gi',
    volume: '1Gi',
    allocated: '5Gi',
    status: IN_PROGRESS,
    progress: { finallyFailed: true },
    size: '2Gi',
  },
  { row: 'A4', request: '3Gi', volume: '1Gi', allocated: '2Gi', status: NODE_PENDING, size: '2Gi' },
  { row: 'A4', request: '3Gi', volume: '2Gi', allocated: '2Gi', status: NODE_PENDING, size: undefined },
  { row: 'A4', request: '3Gi', volume: '2Gi', allocated: '2Gi', status: NODE_IN_PROGRESS, size: undefined },
  { row: 'A4', request: '3Gi', volume: '2Gi', status: NODE_IN_PROGRESS, size: '3Gi' },
  { row: 'A5', request: '3Gi', volume: '2Gi', allocated: '2Gi', status: NODE_INFEASIBLE, size: '2Gi' },
  { row: 'A5', request: '3Gi', volume: '2Gi', status: NODE_INFEASIBLE, size: '3Gi' },
  // The volume was recreated smaller than the size that the kubelet should finish. The driver refuses that size.
  ...[NODE_PENDING, NODE_INFEASIBLE].map((status) => ({
    row: status === NODE_PENDING ? 'A4' : 'A5',
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
  { row: 'B1', request: '2Gi', volume: '2Gi', allocated: '2Gi', status: NODE_PENDING, size: undefined },
  { row: 'B1', request: '2Gi', volume: '3Gi', allocated: '3Gi', status: NODE_IN_PROGRESS, size: undefined },
  { row: 'B2', request: '2Gi', volume: '3Gi', allocated: '3Gi', status: NODE_INFEASIBLE, size: '3Gi' },
  { row: 'B2', request: '2Gi', volume: '3Gi', status: NODE_INFEASIBLE, size: '2Gi' },
  {
    row: 'B2',
    request: '2Gi',
    volume: '3Gi',
    allocated: '3Gi',
    status: NODE_INFEASIBLE,
    progress: { driverExpands: false },
    size: '2Gi',
  },
  {
    row: 'B2',
    request: '2Gi',
    volume: '3Gi',
    allocated: '4Gi',
    status: NODE_INFEASIBLE,
    progress: { finallyFailed: true },
    size: '2Gi',
  },
  { row: 'B3', request: '2Gi', volume: '3Gi', allocated: '3Gi', status: IN_PROGRESS, size: '3Gi' },
  { row: 'B3', request: '2Gi', volume: '3Gi', status: IN_PROGRESS, size: '2Gi' },
  {
    row: 'B3',
    request: '2Gi',
    volume: '2Gi',
    allocated: '5Gi',
    status: IN_PROGRESS,
    progress: { finallyFailed: true },
    size: '2Gi',
  },
  {
    row: 'B3',
    request: '2Gi',
    volume: '3Gi',
    allocated: '3Gi',
    status: INFEASIBLE,
    progress: { finallyFailed: true },
    size: '2Gi',
  },
  { row: 'B3a', request: '2Gi', volume: '2Gi', allocated: '5Gi', status: INFEASIBLE, size: '2Gi' },
  { row: 'B3a', request: '2Gi', volume: '3Gi', allocated: '5Gi', status: INFEASIBLE, size: '2Gi' },
  { row: 'B3', request: '2Gi', volume: '3Gi', allocated: '3Gi', status: INFEASIBLE, size: '3Gi' },
  { row: 'B3', request: '2Gi', volume: '4Gi', allocated: '3Gi', status: INFEASIBLE, size: '3Gi' },
  { row: 'B3', request: '2Gi', volume: '3Gi', status: INFEASIBLE, size: '2Gi' },
  { row: 'B3', request: '2Gi', volume: '2Gi', allocated: '5Gi', status: IN_PROGRESS, size: '5Gi' },
  { row: 'B4', request: '2Gi', volume: '2Gi', allocated: '2Gi', size: '2Gi' },
  { row: 'B4', request: '4Gi', volume: '9Gi', allocated: '2Gi', size: '2Gi' },
  // The claim already has the recorded size of 1Gi: the recorded expansion is finished.
  { row: 'B4', request: '2Gi', volume: '9Gi', allocated: '1Gi', size: '2Gi' },
  { row: 'B5', request: '2Gi', volume: '2Gi', size: '2Gi' },
  { row: 'B5', request: '2Gi', volume: '2Gi', progress: { nodeStepPending: true }, size: undefined },
  { row: 'B5', request: '2Gi', volume: '2Gi', allocated: '3Gi', status: 'SomethingNew', size: '2Gi' },
]

describe('targetOf', () => {
  it.each([...A, ...B])(
    'the resizer chooses the size by rule $row for request $request, volume $volume, allocated $allocated, status $status',
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
      expect({ row: target.row, size: target.size?.toString() }).toEqual({ row: row.row, size: row.size })
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
    expect(targetOf(sizes, progress)).toEqual({ row: 'B1', size: undefined })
  })
})

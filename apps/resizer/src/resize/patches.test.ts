import { Quantity } from '@csi-sidecars/kube-types'
import { describe, expect, it } from '@jest/globals'
import { projectClaim } from '../caches/claim.ts'
import { volumeProjection } from '../caches/volume.ts'
import { type ClaimFields, claim, DRIVER, volume } from '../testing/builders.ts'
import {
  capacityPatch,
  dropPreResizePatch,
  failedPatch,
  finishedPatch,
  nodeStepPatch,
  preResizeText,
  startPatch,
} from './patches.ts'

const THEN = '2025-12-31T00:00:00Z'
const NOW = '2026-01-01T00:00:00Z'
const now = Date.parse(NOW)
const NOT_REQUIRED = 'volume.kubernetes.io/node-expansion-not-required'
const PRE_RESIZE = 'volume.alpha.kubernetes.io/pre-resize-capacity'

const foreign = { type: 'example.com/Backup', status: 'True', lastTransitionTime: THEN }
const old = (type: string) => ({ type, status: 'True', lastProbeTime: null, lastTransitionTime: THEN })
const fresh = (type: string) => ({ type, status: 'True', lastProbeTime: null, lastTransitionTime: NOW })

function cachedClaim(fields: ClaimFields & { conditions?: object[] } = {}) {
  const { conditions, ...others } = fields
  const status = { ...others.status, ...(conditions && { conditions: conditions as never }) }
  const pvc = claim({ ...others, status })
  return projectClaim({ ...pvc, metadata: { ...pvc.metadata, resourceVersion: '42' } })
}

describe('markPatch', () => {
  const size = Quantity.parse('2Gi')

  it('`startPatch` records a running expansion, and carries the `resourceVersion` of the cached claim', () => {
    expect(startPatch(cachedClaim({ request: '2Gi' }), { target: size, newSize: true }, now)).toEqual({
      kind: 'strategic',
      body: {
        metadata: { resourceVersion: '42' },
        status: {
          allocatedResources: { storage: '2Gi' },
          allocatedResourceStatuses: { storage: 'ControllerResizeInProgress' },
          conditions: [fresh('Resizing')],
        },
      },
    })
  })

  it("`startPatch` removes status and conditions of an earlier size, and keeps other controllers' fields", () => {
    const conditions = [
      foreign,
      old('ControllerResizeError'),
      old('Resizing'),
      old('FileSystemResizePending'),
      old('NodeResizeError'),
    ]
    const claimed = cachedClaim({
      allocated: '3Gi',
      sizeStatus: 'ControllerResizeInfeasible',
      annotations: { [NOT_REQUIRED]: 'true', mine: 'stays' },
      conditions,
    })
    expect(startPatch(claimed, { target: size, newSize: true }, now).body).toEqual({
      metadata: { resourceVersion: '42', annotations: { [NOT_REQUIRED]: null } },
      status: {
        allocatedResources: { storage: '2Gi' },
        allocatedResourceStatuses: { storage: 'ControllerResizeInProgress' },
        '$setElementOrder/conditions': [{ type: 'example.com/Backup' }, { type: 'Resizing' }],
        conditions: [
          { type: 'Resizing', lastTransitionTime: NOW },
          { $patch: 'delete', type: 'ControllerResizeError' },
          { $patch: 'delete', type: 'FileSystemResizePending' },
          { $patch: 'delete', type: 'NodeResizeError' },
        ],
      },
    })
  })

  it('`startPatch` changes only the time of the condition if the same size is tried again', () => {
    const conditions = [old('Resizing'), old('ControllerResizeError')]
    const claimed = cachedClaim({ allocated: '2Gi', sizeStatus: 'ControllerResizeInfeasible', conditions })
    expect(startPatch(claimed, { target: size, newSize: false }, now).body).toEqual({
      metadata: { resourceVersion: '42' },
      status: {
        '$setElementOrder/conditions': [{ type: 'Resizing' }, { type: 'ControllerResizeError' }],
        conditions: [{ type: 'Resizing', lastTransitionTime: NOW }],
      },
    })
  })

  it('`startPatch` writes the size in the notation of the request', () => {
    const body = startPatch(cachedClaim(), { target: Quantity.parse('2G'), newSize: true }, now).body
    expect(body).toMatchObject({ status: { allocatedResources: { storage: '2G' } } })
  })
})

describe('failedPatch', () => {
  const error = { message: 'rpc error: code = Internal desc = broken', infeasible: false }
  const message = 'failed to expand pvc with rpc error: code = Internal desc = broken'

  it('`failedPatch` adds the condition for the error, and carries no `resourceVersion`', () => {
    const claimed = cachedClaim({ sizeStatus: 'ControllerResizeInProgress', conditions: [old('Resizing')] })
    expect(failedPatch(claimed, error, now).body).toEqual({
      metadata: { uid: 'uid-data' },
      status: {
        '$setElementOrder/conditions': [{ type: 'Resizing' }, { type: 'ControllerResizeError' }],
        conditions: [{ ...fresh('ControllerResizeError'), message }],
      },
    })
  })

  it('`failedPatch` sets the status for an infeasible size', () => {
    const claimed = cachedClaim({ sizeStatus: 'ControllerResizeInProgress' })
    expect(failedPatch(claimed, { ...error, infeasible: true }, now).body).toMatchObject({
      status: { allocatedResourceStatuses: { storage: 'ControllerResizeInfeasible' } },
    })
  })

  it('`failedPatch` replaces the condition of an older failure', () => {
    const conditions = [{ ...old('ControllerResizeError'), message: 'older' }]
    expect(failedPatch(cachedClaim({ conditions }), error, now).body).toEqual({
      metadata: { uid: 'uid-data' },
      status: {
        '$setElementOrder/conditions': [{ type: 'ControllerResizeError' }],
        conditions: [{ type: 'ControllerResizeError', lastTransitionTime: NOW, message }],
      },
    })
  })
})

describe('success patches', () => {
  it('the patch for an expansion that the kubelet must finish sets the status NodeResizePending', () => {
    const conditions = [old('Resizing'), old('ControllerResizeError')]
    const claimed = cachedClaim({
      sizeStatus: 'ControllerResizeInProgress',
      annotations: { [NOT_REQUIRED]: 'true' },
      conditions,
    })
    expect(nodeStepPatch(claimed, now).body).toEqual({
      metadata: { resourceVersion: '42', annotations: { [NOT_REQUIRED]: null } },
      status: {
        allocatedResourceStatuses: { storage: 'NodeResizePending' },
        '$setElementOrder/conditions': [
          { type: 'Resizing' },
          { type: 'ControllerResizeError' },
          { type: 'FileSystemResizePending' },
        ],
        conditions: [
          {
            ...fresh('FileSystemResizePending'),
            message: 'Waiting for user to (re-)start a pod to finish file system resize of volume on node.',
          },
        ],
      },
    })
  })

  it('the patch for a finished expansion sets the capacity and removes our other fields', () => {
    const conditions = [old('Resizing'), foreign, old('ControllerResizeError')]
    const claimed = cachedClaim({ allocated: '2Gi', sizeStatus: 'ControllerResizeInProgress', conditions })
    expect(finishedPatch(claimed, Quantity.ofBytes(2n ** 31n)).body).toEqual({
      metadata: { resourceVersion: '42', annotations: { [NOT_REQUIRED]: 'true' } },
      status: {
        capacity: { storage: '2Gi' },
        allocatedResourceStatuses: { storage: null },
        '$setElementOrder/conditions': [{ type: 'example.com/Backup' }],
        conditions: [
          { $patch: 'delete', type: 'Resizing' },
          { $patch: 'delete', type: 'ControllerResizeError' },
        ],
      },
    })
  })

  it('`finishedPatch` keeps the statuses of other resources and an existing annotation', () => {
    const allocatedResourceStatuses = { storage: 'ControllerResizeInProgress', 'example.com/x': 'NodeResizePending' }
    const claimed = cachedClaim({ annotations: { [NOT_REQUIRED]: 'yes' }, status: { allocatedResourceStatuses } })
    expect(finishedPatch(claimed, Quantity.ofBytes(2n ** 31n)).body).toEqual({
      metadata: { resourceVersion: '42' },
      status: { capacity: { storage: '2Gi' }, allocatedResourceStatuses: { storage: null } },
    })
  })

  it('the patch for a finished expansion adds the capacity of a claim that had none', () => {
    const body = finishedPatch(cachedClaim({ capacity: null }), Quantity.ofBytes(2n ** 31n)).body
    expect(body).toMatchObject({ status: { capacity: { storage: '2Gi' } } })
  })
})

describe('volume patches', () => {
  const pv = (capacity: string) => volumeProjection(DRIVER)(volume({ capacity }))

  it.each<[name: string, bytes: bigint, text: string]>([
    ['whole gibibytes', 2n * 2n ** 30n, '2Gi'],
    ['whole mebibytes', 1536n * 2n ** 20n, '1536Mi'],
    ['whole kibibytes', 2_000_000_000n, '1953125Ki'],
    ['plain bytes', 2_000_000_001n, '2000000001'],
  ])('`capacityPatch` can write a size in %s', (_what, bytes, text) => {
    expect(capacityPatch(pv('1Gi'), Quantity.ofBytes(bytes), undefined)).toEqual({
      kind: 'strategic',
      body: { metadata: { uid: 'uid-pv-data' }, spec: { capacity: { storage: text } } },
    })
  })

  it('`capacityPatch` records the old size of the claim in an annotation', () => {
    expect(capacityPatch(pv('1Gi'), Quantity.parse('2G'), '1Gi')?.body).toEqual({
      metadata: { uid: 'uid-pv-data', annotations: { [PRE_RESIZE]: '1Gi' } },
      spec: { capacity: { storage: '2G' } },
    })
    expect(capacityPatch(pv('2G'), Quantity.parse('2G'), '1Gi')?.body).toEqual({
      metadata: { uid: 'uid-pv-data', annotations: { [PRE_RESIZE]: '1Gi' } },
    })
  })

  it('`capacityPatch` returns undefined if the volume already has the capacity', () => {
    expect(capacityPatch(pv('2Gi'), Quantity.parse('2Gi'), undefined)).toBeUndefined()
  })

  it('`dropPreResizePatch` removes only the annotation with the old size', () => {
    const annotated = (annotations: Record<string, string>) => volumeProjection(DRIVER)(volume({ annotations }))
    const body = { metadata: { uid: 'uid-pv-data', annotations: { [PRE_RESIZE]: null } } }
    expect(dropPreResizePatch(annotated({ [PRE_RESIZE]: '1Gi', mine: 'stays' })).body).toEqual(body)
    expect(dropPreResizePatch(annotated({ [PRE_RESIZE]: '1Gi' })).body).toEqual(body)
  })

  it.each([
    ['1024Mi', '1Gi'],
    ['1Gi', '1Gi'],
    ['1.5Gi', '1536Mi'],
  ])('`preResizeText` writes an old size of %s as %s', (capacity, text) =>
    expect(preResizeText(cachedClaim({ capacity }))).toBe(text),
  )

  it('`preResizeText` writes a missing old size as 0', () =>
    expect(preResizeText(cachedClaim({ capacity: null }))).toBe('0'))
})

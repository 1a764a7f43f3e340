import { describe, expect, it } from '@jest/globals'
import { type ClaimPatchParts, claimStatusPatch, type VolumePatchParts, volumePatch } from './strategic-merge.ts'

const THEN = '2026-01-01T00:00:00Z'
const NOW = '2026-01-02T00:00:00Z'
const resizing = { type: 'Resizing', status: 'True', lastProbeTime: null, lastTransitionTime: THEN }
const failed = { type: 'ControllerResizeError', status: 'True', lastProbeTime: null, lastTransitionTime: THEN }
const foreign = { type: 'example.com/Backup', status: 'False', reason: 'Idle', lastTransitionTime: THEN }

describe('claimStatusPatch', () => {
  it.each<[name: string, before: ClaimPatchParts, after: ClaimPatchParts, body: object]>([
    [
      'a new resize',
      { status: { phase: 'Bound', capacity: { storage: '1Gi' } } },
      {
        status: {
          phase: 'Bound',
          capacity: { storage: '1Gi' },
          allocatedResources: { storage: '2Gi' },
          allocatedResourceStatuses: { storage: 'ControllerResizeInProgress' },
          conditions: [resizing],
        },
      },
      {
        status: {
          allocatedResources: { storage: '2Gi' },
          allocatedResourceStatuses: { storage: 'ControllerResizeInProgress' },
          conditions: [resizing],
        },
      },
    ],
    [
      'a new time in one of two conditions',
      { status: { conditions: [resizing, foreign] } },
      { status: { conditions: [{ ...resizing, lastTransitionTime: NOW }, foreign] } },
      {
        status: {
          '$setElementOrder/conditions': [{ type: 'Resizing' }, { type: 'example.com/Backup' }],
          conditions: [{ type: 'Resizing', lastTransitionTime: NOW }],
        },
      },
    ],
    [
      'a field removed from a condition',
      { status: { conditions: [{ ...failed, message: 'no', reason: 'Because' }] } },
      { status: { conditions: [{ ...failed, message: 'still no' }] } },
      {
        status: {
          '$setElementOrder/conditions': [{ type: 'ControllerResizeError' }],
          conditions: [{ type: 'ControllerResizeError', message: 'still no', reason: null }],
        },
      },
    ],
    [
      'a new, a removed and an unchanged condition',
      { status: { conditions: [failed, foreign] } },
      { status: { conditions: [foreign, resizing] } },
      {
        status: {
          '$setElementOrder/conditions': [{ type: 'example.com/Backup' }, { type: 'Resizing' }],
          conditions: [resizing, { $patch: 'delete', type: 'ControllerResizeError' }],
        },
      },
    ],
    [
      'a new order of conditions',
      { status: { conditions: [failed, foreign] } },
      { status: { conditions: [foreign, failed] } },
      {
        status: {
          '$setElementOrder/conditions': [{ type: 'example.com/Backup' }, { type: 'ControllerResizeError' }],
        },
      },
    ],
    [
      'the end of a resize',
      {
        metadata: { annotations: { other: 'kept' } },
        status: {
          capacity: { storage: '1Gi' },
          allocatedResourceStatuses: { storage: 'ControllerResizeInProgress' },
          conditions: [resizing, failed],
        },
      },
      {
        metadata: { annotations: { other: 'kept', 'volume.kubernetes.io/node-expansion-not-required': 'true' } },
        status: { capacity: { storage: '2Gi' }, allocatedResourceStatuses: {}, conditions: [] },
      },
      {
        metadata: { annotations: { 'volume.kubernetes.io/node-expansion-not-required': 'true' } },
        status: {
          capacity: { storage: '2Gi' },
          allocatedResourceStatuses: { storage: null },
          conditions: [
            { $patch: 'delete', type: 'Resizing' },
            { $patch: 'delete', type: 'ControllerResizeError' },
          ],
        },
      },
    ],
    [
      'a key removed from a map with other keys',
      { status: { allocatedResourceStatuses: { storage: 'NodeResizePending', 'example.com/x': 'NodeResizePending' } } },
      { status: { allocatedResourceStatuses: { 'example.com/x': 'NodeResizePending' } } },
      { status: { allocatedResourceStatuses: { storage: null } } },
    ],
    [
      'the removal of the last annotation',
      { metadata: { annotations: { a: '1' } } },
      { metadata: {} },
      { metadata: { annotations: { a: null } } },
    ],
    [
      'the end of a modification',
      { status: { modifyVolumeStatus: { status: 'InProgress', targetVolumeAttributesClassName: 'gold' } } },
      { status: { currentVolumeAttributesClassName: 'gold' } },
      { status: { modifyVolumeStatus: null, currentVolumeAttributesClassName: 'gold' } },
    ],
    [
      'a modification that turns infeasible',
      { status: { modifyVolumeStatus: { status: 'InProgress', targetVolumeAttributesClassName: 'gold' } } },
      { status: { modifyVolumeStatus: { status: 'Infeasible', targetVolumeAttributesClassName: 'gold' } } },
      { status: { modifyVolumeStatus: { status: 'Infeasible' } } },
    ],
    ['no change', { status: { conditions: [resizing] } }, { status: { conditions: [resizing] } }, {}],
  ])('the status patch of a claim contains exactly this change: %s', (_what, before, after, body) => {
    expect(claimStatusPatch(before, after)).toStrictEqual({ kind: 'strategic', body })
  })

  it('the status patch of a claim contains the given resource version', () => {
    const body = { metadata: { resourceVersion: '42' }, status: { phase: 'Bound' } }
    expect(claimStatusPatch({}, { status: { phase: 'Bound' } }, { resourceVersion: '42' }).body).toStrictEqual(body)
  })

  it('the status patch of a claim contains the UID of the claim', () => {
    const body = { metadata: { uid: 'u1' }, status: { phase: 'Bound' } }
    expect(claimStatusPatch({}, { status: { phase: 'Bound' } }, { uid: 'u1' }).body).toStrictEqual(body)
  })

  it('the status patch of a claim changes only annotations and status', () => {
    const before = { metadata: { annotations: {}, labels: { a: '1' } }, spec: { volumeName: 'pv1' }, status: {} }
    const after = { metadata: { annotations: {}, labels: { a: '2' } }, spec: { volumeName: 'pv2' }, status: {} }
    expect(claimStatusPatch(before, after).body).toStrictEqual({})
  })
})

describe('volumePatch', () => {
  it.each<[name: string, before: VolumePatchParts, after: VolumePatchParts, body: object]>([
    [
      'a new capacity and an annotation of the old size',
      { spec: { capacity: { storage: '1Gi' } } },
      {
        metadata: { annotations: { 'volume.alpha.kubernetes.io/pre-resize-capacity': '1Gi' } },
        spec: { capacity: { storage: '2Gi' } },
      },
      {
        metadata: { annotations: { 'volume.alpha.kubernetes.io/pre-resize-capacity': '1Gi' } },
        spec: { capacity: { storage: '2Gi' } },
      },
    ],
    [
      'the removal of the annotation of the old size',
      { metadata: { annotations: { 'volume.alpha.kubernetes.io/pre-resize-capacity': '1Gi', other: 'x' } } },
      { metadata: { annotations: { other: 'x' } } },
      { metadata: { annotations: { 'volume.alpha.kubernetes.io/pre-resize-capacity': null } } },
    ],
    [
      'another class',
      { spec: { volumeAttributesClassName: 'silver' } },
      { spec: { volumeAttributesClassName: 'gold' } },
      { spec: { volumeAttributesClassName: 'gold' } },
    ],
    ['no change', { spec: { capacity: { storage: '1Gi' } } }, { spec: { capacity: { storage: '1Gi' } } }, {}],
  ])('the patch of a volume contains exactly this change: %s', (_what, before, after, body) => {
    expect(volumePatch(before, after)).toStrictEqual({ kind: 'strategic', body })
  })

  it('the patch of a volume contains the UID of the volume', () => {
    const body = { metadata: { uid: 'u1' }, spec: { capacity: { storage: '2Gi' } } }
    expect(volumePatch({}, { spec: { capacity: { storage: '2Gi' } } }, { uid: 'u1' }).body).toStrictEqual(body)
  })
})

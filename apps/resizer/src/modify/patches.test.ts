import type { PersistentVolumeClaim } from '@csi-sidecars/kube-types'
import { describe, expect, it } from '@jest/globals'
import { projectClaim } from '../caches/claim.ts'
import { volumeProjection } from '../caches/volume.ts'
import { claim, DRIVER, volume } from '../testing/builders.ts'
import { cancelPatch, classPatch, failedPatch, modifiedPatch, pendingPatch, startPatch } from './patches.ts'

const THEN = '2025-12-31T00:00:00Z'
const NOW = '2026-01-01T00:00:00Z'
const now = Date.parse(NOW)

const foreign = { type: 'example.com/Backup', status: 'True', lastTransitionTime: THEN }
const modifyingThen = {
  type: 'ModifyingVolume',
  status: 'True',
  lastProbeTime: THEN,
  lastTransitionTime: THEN,
  message: 'Modifying volume to "gold" is in progress.',
}
const errorThen = { ...modifyingThen, type: 'ModifyVolumeError', reason: 'Internal', message: 'broken' }

function claimWithStatus(status: PersistentVolumeClaim['status'] = {}) {
  const pvc = claim({ status })
  return projectClaim({ ...pvc, metadata: { ...pvc.metadata, resourceVersion: '42' } })
}

const begun = { modifyVolumeStatus: { status: 'InProgress', targetVolumeAttributesClassName: 'gold' } }

describe('startPatch', () => {
  it('`startPatch` records a running modification, and carries the `resourceVersion` of the cached claim', () => {
    expect(startPatch(claimWithStatus(), 'gold', now)).toEqual({
      kind: 'strategic',
      body: {
        metadata: { resourceVersion: '42' },
        status: {
          modifyVolumeStatus: { status: 'InProgress', targetVolumeAttributesClassName: 'gold' },
          conditions: [{ ...modifyingThen, lastProbeTime: NOW, lastTransitionTime: NOW }],
        },
      },
    })
  })

  it('`startPatch` keeps all conditions, and changes only the probe time of the condition `ModifyingVolume`', () => {
    const conditions = [foreign, modifyingThen, errorThen]
    const claimed = claimWithStatus({
      conditions,
      modifyVolumeStatus: { status: 'Infeasible', targetVolumeAttributesClassName: 'gold' },
    })
    expect(startPatch(claimed, 'silver', now).body).toEqual({
      metadata: { resourceVersion: '42' },
      status: {
        modifyVolumeStatus: { status: 'InProgress', targetVolumeAttributesClassName: 'silver' },
        '$setElementOrder/conditions': conditions.map(({ type }) => ({ type })),
        conditions: [
          { type: 'ModifyingVolume', lastProbeTime: NOW, message: 'Modifying volume to "silver" is in progress.' },
        ],
      },
    })
  })

  it.each([
    ['False', NOW],
    ['True', undefined],
  ])('`startPatch` gives a condition that had status %s the transition time %s', (status, lastTransitionTime) => {
    const body = startPatch(claimWithStatus({ ...begun, conditions: [{ ...modifyingThen, status }] }), 'gold', now).body
    const [changed] = (body as { status: { conditions: Record<string, unknown>[] } }).status.conditions
    expect(changed?.['lastTransitionTime']).toBe(lastTransitionTime)
  })
})

describe('pendingPatch', () => {
  it('`pendingPatch` sets the status Pending and changes nothing else', () => {
    expect(pendingPatch(claimWithStatus({ conditions: [modifyingThen] }))?.body).toEqual({
      metadata: { resourceVersion: '42' },
      status: { modifyVolumeStatus: { status: 'Pending' } },
    })
    expect(pendingPatch(claimWithStatus(begun))?.body).toEqual({
      metadata: { resourceVersion: '42' },
      status: { modifyVolumeStatus: { status: 'Pending' } },
    })
    expect(pendingPatch(claimWithStatus({ modifyVolumeStatus: { status: 'Pending' } }))).toBeUndefined()
  })
})

describe('failedPatch', () => {
  const failed = (kind: 'infeasible' | 'final' | 'uncertain', reason = 'Internal') =>
    failedPatch(
      claimWithStatus({ ...begun, conditions: [modifyingThen] }),
      { target: 'gold', error: { kind, reason, message: 'broken' } },
      now,
    ).body

  const error = { ...errorThen, lastProbeTime: NOW, lastTransitionTime: NOW }
  const order = [{ type: 'ModifyingVolume' }, { type: 'ModifyVolumeError' }]

  it.each([
    ['infeasible' as const, 'failed. Waiting for retry.', { modifyVolumeStatus: { status: 'Infeasible' } }],
    ['final' as const, 'failed. Waiting for retry.', {}],
    ['uncertain' as const, 'is still in progress.', {}],
  ])('`failedPatch` writes for an error of kind %s the message: %s', (kind, state, status) => {
    expect(failed(kind)).toEqual({
      metadata: { resourceVersion: '42' },
      status: {
        ...status,
        '$setElementOrder/conditions': order,
        conditions: [
          { type: 'ModifyingVolume', lastProbeTime: NOW, message: `Modifying volume to "gold" ${state}` },
          error,
        ],
      },
    })
  })

  it.each([
    ['Internal', { type: 'ModifyVolumeError', lastProbeTime: NOW }],
    ['Aborted', { type: 'ModifyVolumeError', lastProbeTime: NOW, lastTransitionTime: NOW, reason: 'Aborted' }],
  ])('the transition time of an error changes only with its reason, here from Internal to %s', (reason, changed) => {
    const claimed = claimWithStatus({ ...begun, conditions: [modifyingThen, errorThen] })
    const { body } = failedPatch(claimed, { target: 'gold', error: { kind: 'final', reason, message: 'broken' } }, now)
    expect((body as { status: { conditions: unknown[] } }).status.conditions[1]).toEqual(changed)
  })
})

describe('empty message', () => {
  const silent = { kind: 'final', reason: 'NotFound', message: '' } as const
  const errorOf = (conditions: readonly object[]): unknown => {
    const claimed = claimWithStatus({ ...begun, conditions: [...conditions] as (typeof modifyingThen)[] })
    const { body } = failedPatch(claimed, { target: 'gold', error: silent }, now)
    return (body as { status: { conditions: unknown[] } }).status.conditions[1]
  }

  it('`failedPatch` for an error without a message removes the message of an earlier error', () => {
    const stated = { type: 'ModifyVolumeError', lastProbeTime: NOW, lastTransitionTime: NOW, reason: 'NotFound' }
    expect(errorOf([modifyingThen])).toEqual({ ...stated, status: 'True' })
    expect(errorOf([modifyingThen, errorThen])).toEqual({ ...stated, message: null })
  })
})

describe('success patches', () => {
  it('the patch after a modification sets the current class, and removes the modify status and our conditions', () => {
    const claimed = claimWithStatus({ ...begun, conditions: [modifyingThen, foreign, errorThen] })
    expect(modifiedPatch(claimed, 'gold').body).toEqual({
      metadata: { uid: 'uid-data' },
      status: {
        currentVolumeAttributesClassName: 'gold',
        modifyVolumeStatus: null,
        '$setElementOrder/conditions': [{ type: 'example.com/Backup' }],
        conditions: [
          { $patch: 'delete', type: 'ModifyingVolume' },
          { $patch: 'delete', type: 'ModifyVolumeError' },
        ],
      },
    })
  })

  it("the patch after a modification omits a class that the claim's status already has", () => {
    const claimed = claimWithStatus({ ...begun, currentVolumeAttributesClassName: 'gold' })
    expect(modifiedPatch(claimed, 'gold').body).toEqual({
      metadata: { uid: 'uid-data' },
      status: { modifyVolumeStatus: null },
    })
  })

  it('a withdrawn request for a class removes only the condition `ModifyingVolume`', () => {
    expect(cancelPatch(claimWithStatus({ ...begun, conditions: [modifyingThen, errorThen] })).body).toEqual({
      metadata: { uid: 'uid-data' },
      status: {
        '$setElementOrder/conditions': [{ type: 'ModifyVolumeError' }],
        conditions: [{ $patch: 'delete', type: 'ModifyingVolume' }],
      },
    })
  })

  it('a successful modification writes the class to the volume, unless the volume already has it', () => {
    const pv = (spec: object) => volumeProjection(DRIVER)(volume({ spec }))
    const metadata = { uid: 'uid-pv-data' }
    expect(classPatch(pv({}), 'gold')?.body).toEqual({ metadata, spec: { volumeAttributesClassName: 'gold' } })
    expect(classPatch(pv({ volumeAttributesClassName: 'silver' }), 'gold')?.body).toEqual({
      metadata,
      spec: { volumeAttributesClassName: 'gold' },
    })
    expect(classPatch(pv({ volumeAttributesClassName: 'gold' }), 'gold')).toBeUndefined()
  })
})

import { describe, expect, it } from '@jest/globals'
import { VOLUME_FINALIZER } from '../caches/names.ts'
import type { ProvisionerVolume } from '../caches/volume.ts'
import { decideVolume, isToBeDeleted, type PersistentVolumeStep } from './decide.ts'

const RELEASED = {
  ...{ ours: true, phase: 'Released', reclaimPolicy: 'Delete', deleting: false, finalizers: undefined },
  isReachable: true,
}
const PROTECTED = { finalizers: [VOLUME_FINALIZER] }

/** Returns the steps for a released volume of this driver with other fields. */
function decided(
  changes: Partial<ProvisionerVolume>,
  {
    nodes = [],
    driverHasDeleted = false,
  }: { readonly nodes?: readonly string[]; readonly driverHasDeleted?: boolean } = {},
): readonly PersistentVolumeStep[] {
  const attachments = nodes.map((node) => ({ node }) as never)
  const volume = { ...RELEASED, ...changes } as ProvisionerVolume
  return decideVolume({ volume, attachments, driverHasDeleted })
}

const nothing = (why: string): object => ({ kind: 'nothing', why })
const DELETE = { kind: 'delete', driverHasDeleted: false, attachedTo: undefined }
const FOREIGN = nothing('another provisioner is responsible')
const NOT_RELEASED = nothing('its claim has not released it')
const RETAINED = nothing('its volume is retained')

describe('decideVolume', () => {
  it.each<[string, Partial<ProvisionerVolume>, object]>([
    ['released', {}, DELETE],
    ['released and protected', PROTECTED, DELETE],
    ['released, protected and deleted', { ...PROTECTED, deleting: true }, DELETE],
    ['released and deleted without our finalizer', { deleting: true }, nothing('its volume is gone already')],
    ['of another provisioner', { ours: false }, FOREIGN],
    ['released on another node', { isReachable: false }, nothing('only processes on other nodes can reach it')],
    ['bound', { phase: 'Bound' }, { kind: 'addFinalizer' }],
    ['bound and protected', { phase: 'Bound', ...PROTECTED }, NOT_RELEASED],
    ['bound and deleted', { phase: 'Bound', ...PROTECTED, deleting: true }, NOT_RELEASED],
    ['bound with policy Retain', { phase: 'Bound', reclaimPolicy: 'Retain' }, NOT_RELEASED],
    ['available', { phase: 'Available' }, NOT_RELEASED],
    ['failed', { phase: 'Failed' }, NOT_RELEASED],
    ['released with policy Retain', { reclaimPolicy: 'Retain' }, RETAINED],
    [
      'released and protected with policy Retain',
      { reclaimPolicy: 'Retain', ...PROTECTED },
      { kind: 'removeFinalizer' },
    ],
    [
      'bound and protected with policy Recycle',
      { phase: 'Bound', reclaimPolicy: 'Recycle', ...PROTECTED },
      { kind: 'removeFinalizer' },
    ],
    ['released with an unknown policy', { reclaimPolicy: 'Later' }, RETAINED],
  ])('`decideVolume` chooses the next step for a volume that is %s', (_state, changes, step) => {
    expect(decided(changes)).toEqual([step])
  })

  it('the step that deletes a volume names a node to which the volume is attached', () => {
    expect(decided({}, { nodes: ['node-1', 'node-2'] })).toEqual([{ ...DELETE, attachedTo: 'node-1' }])
  })

  it('the step that deletes a volume contains that the driver has already deleted the volume', () => {
    expect(decided({}, { driverHasDeleted: true })).toEqual([{ ...DELETE, driverHasDeleted: true }])
  })
})

describe('isToBeDeleted', () => {
  it.each<[string, Partial<ProvisionerVolume>, boolean]>([
    ['a released volume of this driver', {}, true],
    ['a released volume of another provisioner', { ours: false }, false],
    ['a volume that is bound again', { phase: 'Bound', ...PROTECTED }, false],
    ['a volume that is now retained', { reclaimPolicy: 'Retain', ...PROTECTED }, false],
  ])('a repeated check before DeleteVolume lets %s be deleted only if it still must be', (_, changes, expected) => {
    const volume = { ...RELEASED, ...changes } as ProvisionerVolume
    expect(isToBeDeleted({ volume, driverHasDeleted: false })).toBe(expected)
  })
})

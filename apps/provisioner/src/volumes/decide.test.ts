import { describe, expect, it } from '@jest/globals'
import { VOLUME_FINALIZER } from '../caches/names.ts'
import type { ProvisionerVolume } from '../caches/volume.ts'
import { decideVolume } from './decide.ts'

const RELEASED = {
  ...{ ours: true, phase: 'Released', reclaimPolicy: 'Delete', deleting: false, finalizers: undefined },
  isReachable: true,
}
const PROTECTED = { finalizers: [VOLUME_FINALIZER] }

function decided(
  changes: Partial<ProvisionerVolume>,
  rest: { attachedTo?: string; isDeleted?: boolean } = {},
): readonly string[] {
  const { attachedTo, isDeleted = false } = rest
  const attachments = attachedTo === undefined ? [] : [{ node: attachedTo } as never]
  const volume = { ...RELEASED, ...changes } as ProvisionerVolume
  return decideVolume({ volume, attachments, isDeleted }).map(({ kind }) => kind)
}

describe('decideVolume', () => {
  it.each<[string, Partial<ProvisionerVolume>, string]>([
    ['released', {}, 'delete'],
    ['released and protected', PROTECTED, 'delete'],
    ['released, protected and deleted', { ...PROTECTED, deleting: true }, 'delete'],
    ['released and deleted without our finalizer', { deleting: true }, 'nothing'],
    ['of another provisioner', { ours: false }, 'nothing'],
    ['released on another node', { isReachable: false }, 'nothing'],
    ['bound', { phase: 'Bound' }, 'addFinalizer'],
    ['bound and protected', { phase: 'Bound', ...PROTECTED }, 'nothing'],
    ['bound and deleted', { phase: 'Bound', ...PROTECTED, deleting: true }, 'nothing'],
    ['available', { phase: 'Available' }, 'nothing'],
    ['failed', { phase: 'Failed' }, 'nothing'],
    ['released with policy Retain', { reclaimPolicy: 'Retain' }, 'nothing'],
    ['released and protected with policy Retain', { reclaimPolicy: 'Retain', ...PROTECTED }, 'removeFinalizer'],
    ['released with an unknown policy', { reclaimPolicy: 'Later' }, 'nothing'],
  ])('`decideVolume` chooses the next step for a volume that is %s', (_state, changes, decision) => {
    expect(decided(changes)).toEqual([decision])
  })
})

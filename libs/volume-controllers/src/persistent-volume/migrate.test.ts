import { describe, expect, it } from '@jest/globals'
import { claim, volume } from '../testing/objects.ts'
import { migrateClaimPatch, migrateVolumePatch } from './migrate.ts'

const EBS = 'kubernetes.io/aws-ebs'
const MIGRATED = 'pv.kubernetes.io/migrated-to'
const PROVISIONER = 'volume.kubernetes.io/storage-provisioner'
const BETA = 'volume.beta.kubernetes.io/storage-provisioner'
const BY = 'pv.kubernetes.io/provisioned-by'
const FINALIZER = 'kubernetes.io/pv-controller'

describe('a claim', () => {
  it.each([
    ['of a migrated plugin names its driver', { [PROVISIONER]: EBS }, 'ebs.csi.aws.com'],
    ['of a migrated plugin, said in the old way', { [BETA]: EBS }, 'ebs.csi.aws.com'],
    ['names another driver than that which has taken over', { [PROVISIONER]: EBS, [MIGRATED]: 'x' }, 'ebs.csi.aws.com'],
    ['of a CSI driver loses the mark', { [PROVISIONER]: 'csi.example.com', [MIGRATED]: 'x' }, null],
  ])('%s', (_, annotations, mark) => {
    expect(migrateClaimPatch(claim({ annotations }))).toMatchObject({
      body: { metadata: { resourceVersion: '1', annotations: { [MIGRATED]: mark } } },
    })
  })

  it.each([
    ['no driver provisions', { [MIGRATED]: 'x' }],
    ['is marked already', { [PROVISIONER]: EBS, [MIGRATED]: 'ebs.csi.aws.com' }],
    ['is of a CSI driver', { [PROVISIONER]: 'csi.example.com' }],
  ])('an object that %s is not changed', (_, annotations) => {
    expect(migrateClaimPatch(claim({ annotations }))).toBeUndefined()
  })
})

describe('a volume', () => {
  it.each([
    ['of a migrated plugin is the driver’s to keep', EBS, 'Delete', ['x/y', FINALIZER], ['x/y'], 'ebs.csi.aws.com'],
    [
      'of a plugin is kept until the plugin has deleted it',
      'kubernetes.io/host-path',
      'Delete',
      [],
      [FINALIZER],
      undefined,
    ],
    ['of a plugin that is not deleted', 'kubernetes.io/host-path', 'Retain', [FINALIZER], [], undefined],
    [
      'of a plugin has lost its migration',
      'kubernetes.io/host-path',
      'Delete',
      ['external-provisioner.volume.kubernetes.io/finalizer'],
      [FINALIZER],
      undefined,
    ],
  ])('%s', (_, by, reclaimPolicy, finalizers, wanted, mark) => {
    const patch = migrateVolumePatch(volume({ annotations: { [BY]: by }, reclaimPolicy, finalizers }))
    const annotations = mark === undefined ? {} : { annotations: { [MIGRATED]: mark } }
    expect(patch).toMatchObject({ body: { metadata: { resourceVersion: '1', finalizers: wanted, ...annotations } } })
  })

  it.each([
    ['was not provisioned', volume({ finalizers: [FINALIZER] })],
    ['a CSI driver has provisioned', volume({ annotations: { [BY]: 'csi.example.com' } })],
    [
      'is as it should be',
      volume({ annotations: { [BY]: 'kubernetes.io/host-path' }, reclaimPolicy: 'Delete', finalizers: [FINALIZER] }),
    ],
  ])('an object that %s is not changed', (_, present) => {
    expect(migrateVolumePatch(present)).toBeUndefined()
  })
})

import { VolumeCapability_AccessMode_Mode as Mode } from '@csi-sidecars/csi-proto'
import { describe, expect, it } from '@jest/globals'
import { attachment, csi, DRIVER, FINALIZER, ofPv, view, volume, withFinalizer } from '../testing/views.ts'
import { decideAttach } from './decide-attach.ts'
import type { AttachmentView } from './observe.ts'
import type { AttachStep } from './steps.ts'

/** Returns the names of the steps, and the message of a failure. */
const summary = (steps: readonly AttachStep[]): string[] =>
  steps.map((step) => (step.kind === 'fail' ? `fail: ${step.message}` : step.kind))

const PUBLISH = ['addFinalizer', 'publish']

describe('decideAttach', () => {
  const rows: { name: string; view: Partial<AttachmentView>; plan: string[] }[] = [
    {
      name: 'publishes an attached attachment again if it is forced',
      view: { va: withFinalizer({ attached: true }), listingDiffers: true },
      plan: ['publish'],
    },
    { name: 'adds the finalizer, then publishes', view: {}, plan: PUBLISH },
    { name: 'publishes an attachment with the finalizer', view: { va: withFinalizer() }, plan: ['publish'] },
    { name: 'stores the node ID again if it differs', view: { va: withFinalizer({ nodeId: 'old' }) }, plan: PUBLISH },
    {
      name: 'adds the finalizer again if it is gone',
      view: { va: withFinalizer({ finalizers: ['foreign/x'] }) },
      plan: PUBLISH,
    },
    {
      name: 'adds the finalizer of the volume first',
      view: { volume: ofPv(volume({}, { finalizers: ['kubernetes.io/pv-protection'] })) },
      plan: ['addVolumeFinalizer', ...PUBLISH],
    },
    {
      name: 'loads the secret before it adds the finalizer',
      view: { volume: ofPv(volume({ csi: csi({ controllerPublishSecretRef: { name: 's', namespace: 'n' } }) })) },
      plan: ['loadSecret', ...PUBLISH],
    },
    {
      name: 'fails if the attachment names no volume',
      view: { volume: { kind: 'nowhere' } },
      plan: ['fail: neither InlineCSIVolumeSource nor PersistentVolumeName specified in VA source'],
    },
    {
      name: 'fails if the attachment has both an inline volume and a PersistentVolume',
      view: { volume: { kind: 'both' } },
      plan: ['fail: both InlineCSIVolumeSource and PersistentVolumeName specified in VA source'],
    },
    {
      name: 'fails while the volume is missing',
      view: { volume: ofPv(undefined) },
      plan: ['fail: persistentvolume "pv1" not found'],
    },
    {
      name: 'fails for a volume that is being deleted, before it adds a finalizer',
      view: { volume: ofPv(volume({}, { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['a/b'] })) },
      plan: ['fail: PersistentVolume "pv1" is marked for deletion'],
    },
    {
      name: 'adds the finalizer of a volume before it fails because the volume is not CSI',
      view: { volume: ofPv(volume({ nfs: { server: 's', path: '/' } }, { finalizers: ['a/b'] })) },
      plan: ['addVolumeFinalizer', 'fail: pv spec contained non-csi source that was not migrated'],
    },
    {
      name: 'adds the finalizer of an in-tree volume before its translation fails',
      view: {
        volume: ofPv(volume({ awsElasticBlockStore: { volumeID: 'aws://zone/bad' } }, { finalizers: ['a/b'] })),
      },
      plan: [
        'addVolumeFinalizer',
        'fail: failed to translate in tree pv to CSI: failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://zone/bad)',
      ],
    },
    {
      name: 'fails on access modes that CSI cannot express, before it loads a secret',
      view: {
        volume: ofPv(
          volume({
            accessModes: ['ReadOnlyMany', 'ReadWriteOnce'],
            csi: csi({ controllerPublishSecretRef: { name: 's', namespace: 'n' } }),
          }),
        ),
      },
      plan: ['fail: CSI does not support ReadOnlyMany and ReadWriteOnce on the same PersistentVolume'],
    },
    {
      name: 'fails if the CSINode is missing, after it has loaded the secret',
      view: {
        node: { kind: 'noNode' },
        volume: ofPv(volume({ csi: csi({ controllerPublishSecretRef: { name: 's', namespace: 'n' } }) })),
      },
      plan: ['loadSecret', 'fail: csinode.storage.k8s.io "node1" not found'],
    },
    {
      name: 'fails if the driver is not on the node, whatever the annotation says',
      view: { node: { kind: 'noDriver' }, va: withFinalizer() },
      plan: [`fail: CSINode node1 does not contain driver ${DRIVER}`],
    },
    {
      name: 'attaches an inline volume without touching any PersistentVolume',
      view: { volume: { kind: 'inline', spec: { accessModes: ['ReadWriteOnce'], csi: csi() } } },
      plan: PUBLISH,
    },
    {
      name: 'fails on an inline volume that is not CSI',
      view: { volume: { kind: 'inline', spec: { accessModes: ['ReadWriteOnce'] } } },
      plan: ['fail: inline volume spec contains nil CSI source'],
    },
    {
      name: 'adds the finalizer to an attached attachment if it is forced',
      view: { va: attachment({ attached: true }), listingDiffers: true },
      plan: PUBLISH,
    },
    {
      name: 'publishes an attachment without a status',
      view: { va: withFinalizer({ attached: undefined }) },
      plan: ['publish'],
    },
    {
      name: 'fails on a volume that is neither CSI nor translatable',
      view: { volume: ofPv(volume({ nfs: { server: 's', path: '/' } })) },
      plan: ['fail: pv spec contained non-csi source that was not migrated'],
    },
    {
      name: 'adds the finalizer of a volume without a list of finalizers',
      view: { volume: ofPv(volume({}, { finalizers: undefined })) },
      plan: ['addVolumeFinalizer', ...PUBLISH],
    },
    {
      name: 'loads the secret of an inline volume',
      view: {
        volume: {
          kind: 'inline',
          spec: { accessModes: ['ReadWriteOnce'], csi: csi({ controllerPublishSecretRef: { name: 's' } }) },
        },
      },
      plan: ['loadSecret', ...PUBLISH],
    },
    {
      name: "publishes another driver's volume if the attachment names our driver",
      view: {
        volume: ofPv({
          ...volume(),
          kind: 'foreign',
          spec: { accessModes: ['ReadWriteOnce'], csi: csi({ driver: 'other' }) },
        }),
      },
      plan: PUBLISH,
    },
  ]
  it.each(rows)('the plan of an attach: $name', (row) => {
    expect(summary(decideAttach(view(row.view)))).toStrictEqual(row.plan)
  })

  const PV1 = { kind: 'volume', name: 'pv1' }
  const NODE1 = { kind: 'node', name: 'node1' }
  const waits: [string, Partial<AttachmentView>, unknown, string | undefined][] = [
    ['the volume', { volume: ofPv(undefined) }, PV1, 'PersistentVolumeMissing'],
    [
      'a volume that replaces a deleted one',
      { volume: ofPv(volume({}, { deletionTimestamp: '2026-01-01T00:00:00Z' })) },
      PV1,
      'PersistentVolumeDeleting',
    ],
    [
      'a volume that replaces a volume without CSI',
      { volume: ofPv(volume({ nfs: { server: 's', path: '/' } })) },
      PV1,
      undefined,
    ],
    [
      'a volume that replaces a volume with unsupported access modes',
      { volume: ofPv(volume({ accessModes: [] })) },
      PV1,
      undefined,
    ],
    ['the node', { node: { kind: 'noNode' } }, NODE1, 'CSINodeMissing'],
    ['the driver on the node', { node: { kind: 'noDriver' } }, NODE1, 'DriverNotOnNode'],
    ['no object if the attachment names no volume', { volume: { kind: 'nowhere' } }, undefined, undefined],
    ['no object if the volume is inline', { volume: { kind: 'inline', spec: {} } }, undefined, undefined],
  ]
  it.each(waits)('a failed attach waits for %s', (_, change, waitsFor, obstacle) => {
    expect(decideAttach(view(change)).at(-1)).toMatchObject({ kind: 'fail', waitsFor, obstacle })
  })
})

describe('attach steps', () => {
  it('the steps of an attach contain the volume, the secret, the node ID and the finalizer', () => {
    const ref = { controllerPublishSecretRef: { name: 's', namespace: 'n' } }
    const pv = volume({ csi: csi(ref) }, { finalizers: [] })
    expect(decideAttach(view({ volume: ofPv(pv) })).slice(0, 3)).toEqual([
      { kind: 'addVolumeFinalizer', name: 'pv1' },
      { kind: 'loadSecret', ref: { name: 's', namespace: 'n' } },
      { kind: 'addFinalizer', nodeId: 'node1-id', finalizer: FINALIZER },
    ])
  })

  it.each([
    { ref: {}, secret: { name: '', namespace: '' } },
    { ref: { name: 's' }, secret: { name: 's', namespace: '' } },
    { ref: null, secret: undefined },
    { ref: undefined, secret: undefined },
  ])('an attach loads secret $secret if the volume names $ref', ({ ref, secret }) => {
    const steps = decideAttach(view({ volume: ofPv(volume({ csi: csi({ controllerPublishSecretRef: ref }) })) }))
    expect(steps.find((step) => step.kind === 'loadSecret')).toEqual(secret && { kind: 'loadSecret', ref: secret })
  })
})

describe('publish request', () => {
  const requestOf = (change: Partial<AttachmentView>): unknown => {
    const step = decideAttach(view(change)).at(-1)
    return step?.kind === 'publish' ? step.request : step
  }
  const rwo = { mode: 1 }

  it('the publish request contains handle, node ID, capability and volume context', () => {
    expect(requestOf({ volume: ofPv(volume({ csi: csi({ volumeAttributes: { a: 'b' } }) })) })).toEqual({
      volumeId: 'handle-1',
      nodeId: 'node1-id',
      readonly: false,
      volumeContext: { a: 'b' },
      volumeCapability: {
        accessType: { $case: 'mount', value: { fsType: '', mountFlags: [], volumeMountGroup: '' } },
        accessMode: rwo,
      },
    })
  })

  it.each([
    { readOnly: true, publishReadonly: true, readonly: true },
    { readOnly: true, publishReadonly: false, readonly: false },
    { readOnly: false, publishReadonly: true, readonly: false },
    { readOnly: undefined, publishReadonly: true, readonly: false },
  ])('a publish has readonly $readonly for readOnly $readOnly and PUBLISH_READONLY $publishReadonly', (row) => {
    const capabilities = {
      publishReadonly: row.publishReadonly,
      singleNodeMultiWriter: false,
    }
    const request = requestOf({ capabilities, volume: ofPv(volume({ csi: csi({ readOnly: row.readOnly }) })) })
    expect(request).toMatchObject({ readonly: row.readonly })
  })

  it.each([
    { fsType: 'xfs', defaultFsType: 'ext4', sent: 'xfs' },
    { fsType: undefined, defaultFsType: 'ext4', sent: 'ext4' },
    { fsType: '', defaultFsType: 'ext4', sent: 'ext4' },
    { fsType: undefined, defaultFsType: '', sent: '' },
  ])('a publish has fsType "$sent" for fsType $fsType and flag $defaultFsType', ({ fsType, defaultFsType, sent }) => {
    const settings = { driverName: DRIVER, finalizer: FINALIZER, defaultFsType, recoverLostVolumes: false }
    const request = requestOf({ settings, volume: ofPv(volume({ csi: csi({ fsType }), mountOptions: ['b', 'a'] })) })
    expect(request).toMatchObject({
      volumeCapability: { accessType: { value: { fsType: sent, mountFlags: ['b', 'a'] } } },
    })
  })

  it('the publish request of a block volume has no file system and no mount options', () => {
    const pv = volume({ volumeMode: 'Block', mountOptions: ['a'], csi: csi({ fsType: 'xfs' }) })
    expect(requestOf({ volume: ofPv(pv) })).toMatchObject({
      volumeCapability: { accessType: { $case: 'block', value: {} }, accessMode: rwo },
    })
  })

  it.each([
    { singleNodeMultiWriter: false, modes: ['ReadWriteOnce'], mode: Mode.SINGLE_NODE_WRITER },
    { singleNodeMultiWriter: true, modes: ['ReadWriteOnce'], mode: Mode.SINGLE_NODE_MULTI_WRITER },
    { singleNodeMultiWriter: true, modes: ['ReadWriteOncePod'], mode: Mode.SINGLE_NODE_SINGLE_WRITER },
    { singleNodeMultiWriter: true, modes: ['ReadWriteMany'], mode: Mode.MULTI_NODE_MULTI_WRITER },
  ])('a publish has mode $mode for $modes and SINGLE_NODE_MULTI_WRITER $singleNodeMultiWriter', (row) => {
    const capabilities = {
      publishReadonly: false,
      singleNodeMultiWriter: row.singleNodeMultiWriter,
    }
    const request = requestOf({ capabilities, volume: ofPv(volume({ accessModes: row.modes })) })
    expect(request).toMatchObject({ volumeCapability: { accessMode: { mode: row.mode } } })
  })

  it('the publish request of a translated volume keeps the `UNSPECIFIED` parts of its handle', () => {
    const inTree = volume({ gcePersistentDisk: { pdName: 'd', fsType: 'xfs', readOnly: true } })
    const capabilities = { publishReadonly: true, singleNodeMultiWriter: false }
    expect(requestOf({ capabilities, volume: ofPv(inTree) })).toMatchObject({
      volumeId: 'projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d',
      readonly: true,
      volumeContext: { partition: '' },
      volumeCapability: { accessType: { value: { fsType: 'xfs' } } },
    })
  })

  it('only the publish request of a translated volume is marked as migrated', () => {
    const inTree = volume({ awsElasticBlockStore: { volumeID: 'vol-1' } })
    const inline = { kind: 'inline', spec: { accessModes: ['ReadWriteOnce'], csi: csi() } } as const
    const migrated = [ofPv(inTree), ofPv(volume()), inline].map((each) => decideAttach(view({ volume: each })).at(-1))
    expect(migrated).toMatchObject([{ migrated: true }, { migrated: false }, { migrated: false }])
  })
})

import { describe, expect, it } from '@jest/globals'
import { attachment, csi, DRIVER, FINALIZER, ofPv, view, volume, withFinalizer } from '../testing/views.ts'
import { decideDetach } from './decide-detach.ts'
import type { Publication } from './memory.ts'
import type { AttachmentView } from './observe.ts'
import type { DetachStep } from './steps.ts'

const summary = (steps: readonly DetachStep[]): string[] =>
  steps.map((step) => (step.kind === 'fail' || step.kind === 'block' ? `${step.kind}: ${step.message}` : step.kind))

const deleting = { deleting: true, attached: true }
const STALE = { message: 'no', time: '2026-01-01T00:00:00Z' }
const DETACH = ['unpublish', 'removeFinalizer']

describe('decideDetach', () => {
  const rows: { name: string; view: Partial<AttachmentView>; plan: string[] }[] = [
    { name: 'unpublishes, then removes the finalizer', view: { va: withFinalizer(deleting) }, plan: DETACH },
    {
      name: 'unpublishes an attachment that was never marked as attached',
      view: { va: withFinalizer({ deleting: true, attached: false }) },
      plan: DETACH,
    },
    {
      name: 'treats an attachment without our finalizer as detached, whatever its status says',
      view: { va: attachment({ ...deleting, finalizers: ['foreign/x'] }) },
      plan: [],
    },
    {
      name: 'clears the error of a detached attachment if a listing confirms the detach',
      view: { va: attachment({ deleting: true, detachError: STALE }), listingAgrees: true },
      plan: ['markDetached'],
    },
    {
      name: 'keeps the error of a detached attachment until a listing confirms the detach',
      view: { va: attachment({ deleting: true, detachError: STALE }) },
      plan: [],
    },
    {
      name: 'writes nothing for a detached attachment without an error if a listing confirms the detach',
      view: { va: attachment({ deleting: true }), listingAgrees: true },
      plan: [],
    },
    {
      name: 'unpublishes an attachment without our finalizer if it is forced',
      view: { va: attachment({ ...deleting, nodeId: 'node1-id' }), listingDiffers: true },
      plan: ['unpublish'],
    },
    {
      name: 'only writes the status if our finalizer is removed and a status write is pending',
      view: { va: attachment({ ...deleting, finalizers: ['foreign/x'] }), mustWriteStatus: true },
      plan: ['markDetached'],
    },
    {
      name: 'adds no status step to a detach, which writes the status anyway',
      view: { va: withFinalizer(deleting), mustWriteStatus: true },
      plan: DETACH,
    },
    {
      name: 'detaches a volume that is being deleted',
      view: { va: withFinalizer(deleting), volume: ofPv(volume({}, { deletionTimestamp: '2026-01-01T00:00:00Z' })) },
      plan: DETACH,
    },
    {
      name: 'blocks if the volume is missing',
      view: { va: withFinalizer(deleting), volume: ofPv(undefined) },
      plan: ['block: persistentvolume "pv1" not found'],
    },
    {
      name: 'loads the secret first',
      view: {
        va: withFinalizer(deleting),
        volume: ofPv(volume({ csi: csi({ controllerPublishSecretRef: { name: 's', namespace: 'n' } }) })),
      },
      plan: ['loadSecret', ...DETACH],
    },
    {
      name: 'uses the annotation if the CSINode is missing',
      view: { va: withFinalizer(deleting), node: { kind: 'noNode' } },
      plan: DETACH,
    },
    {
      name: 'uses the annotation if the CSINode lacks the driver',
      view: { va: withFinalizer(deleting), node: { kind: 'noDriver' } },
      plan: DETACH,
    },
    {
      name: 'fails if the CSINode and the annotation are missing',
      view: { va: withFinalizer({ ...deleting, nodeId: undefined }), node: { kind: 'noNode' } },
      plan: ['fail: csinode.storage.k8s.io "node1" not found'],
    },
    {
      name: 'fails if the CSINode lacks the driver and the annotation is missing',
      view: { va: withFinalizer({ ...deleting, nodeId: undefined }), node: { kind: 'noDriver' } },
      plan: [`fail: CSINode node1 does not contain driver ${DRIVER}`],
    },
    {
      name: 'removes the finalizer after a forced detach too',
      view: { va: withFinalizer(deleting), listingDiffers: true },
      plan: DETACH,
    },
    {
      name: 'treats an attachment without any finalizer as detached',
      view: { va: attachment(deleting) },
      plan: [],
    },
    {
      name: 'detaches a volume without our finalizer and without access modes',
      view: { va: withFinalizer(deleting), volume: ofPv(volume({ accessModes: [] }, { finalizers: [] })) },
      plan: DETACH,
    },
    {
      name: 'needs no PersistentVolume for an inline volume',
      view: { va: withFinalizer(deleting), volume: { kind: 'inline', spec: { csi: csi() } } },
      plan: DETACH,
    },
    {
      name: 'fails on an inline volume that is not CSI',
      view: { va: withFinalizer(deleting), volume: { kind: 'inline', spec: {} } },
      plan: ['fail: inline volume spec contains nil CSI source'],
    },
    {
      name: 'fails on a volume that is neither CSI nor translatable',
      view: { va: withFinalizer(deleting), volume: ofPv(volume({ nfs: { server: 's', path: '/' } })) },
      plan: ['fail: pv spec contained non-csi source that was not migrated'],
    },
    {
      name: 'fails if the CSINode is missing, after it has loaded the secret',
      view: {
        va: withFinalizer({ ...deleting, nodeId: undefined }),
        node: { kind: 'noNode' },
        volume: ofPv(volume({ csi: csi({ controllerPublishSecretRef: { name: 's', namespace: 'n' } }) })),
      },
      plan: ['loadSecret', 'fail: csinode.storage.k8s.io "node1" not found'],
    },
    {
      name: 'fails if the attachment has both an inline volume and a PersistentVolume',
      view: { va: withFinalizer(deleting), volume: { kind: 'both' } },
      plan: ['fail: both InlineCSIVolumeSource and PersistentVolumeName specified in VA source'],
    },
    {
      name: 'fails if the attachment names no volume',
      view: { va: withFinalizer(deleting), volume: { kind: 'nowhere' } },
      plan: ['fail: neither InlineCSIVolumeSource nor PersistentVolumeName specified in VA source'],
    },
  ]
  it.each(rows)('the plan of a detach: $name', (row) => {
    expect(summary(decideDetach(view(row.view)))).toStrictEqual(row.plan)
  })

  it('a detach prefers the node ID in the CSINode to the node ID in the annotation', () => {
    const steps = decideDetach(view({ va: withFinalizer({ ...deleting, nodeId: 'old' }) }))
    expect(steps[0]).toEqual({
      kind: 'unpublish',
      request: { volumeId: 'handle-1', nodeId: 'node1-id' },
      migrated: false,
    })
  })

  const PV1 = { kind: 'volume', name: 'pv1' }
  const waits: [string, Partial<AttachmentView>, string, unknown, string | undefined][] = [
    ['the volume', { volume: ofPv(undefined) }, 'block', PV1, 'PersistentVolumeMissing'],
    [
      'the node',
      { node: { kind: 'noNode' }, va: withFinalizer({ ...deleting, nodeId: undefined }) },
      'fail',
      { kind: 'node', name: 'node1' },
      'CSINodeMissing',
    ],
    [
      'a volume that replaces a volume without CSI',
      { volume: ofPv(volume({ nfs: { server: 's', path: '/' } })) },
      'fail',
      PV1,
      undefined,
    ],
    ['no object if the attachment names no volume', { volume: { kind: 'nowhere' } }, 'fail', undefined, undefined],
  ]
  it.each(waits)('a failed detach waits for %s', (_, change, step, waitsFor, obstacle) => {
    const steps = decideDetach(view({ va: withFinalizer(deleting), ...change }))
    expect(steps.at(-1)).toMatchObject({ kind: step, waitsFor, obstacle })
  })

  it('the unpublish of a translated volume has the same handle as the publish, and is marked as migrated', () => {
    const inTree = volume({ gcePersistentDisk: { pdName: 'd' } })
    expect(decideDetach(view({ va: withFinalizer(deleting), volume: ofPv(inTree) }))[0]).toEqual({
      kind: 'unpublish',
      request: { volumeId: 'projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d', nodeId: 'node1-id' },
      migrated: true,
    })
  })

  it('the last step of a detach contains the name of the finalizer to remove', () => {
    expect(decideDetach(view({ va: withFinalizer(deleting) })).at(-1)).toEqual({
      kind: 'removeFinalizer',
      finalizer: FINALIZER,
    })
  })
})

describe('node ID', () => {
  const published = (nodeId: string, volumeId = 'handle-1'): Publication => ({
    volume: volumeId,
    nodeName: 'node1',
    request: { volumeId, nodeId },
    secret: undefined,
    migrated: false,
  })
  const rows: { name: string; view: Partial<AttachmentView>; nodeId: string }[] = [
    { name: 'uses the node ID in the CSINode', view: {}, nodeId: 'node1-id' },
    {
      name: 'uses the node ID in the annotation if the CSINode has none',
      view: { node: { kind: 'noDriver' } },
      nodeId: 'old',
    },
    { name: 'uses the node ID of the last publish', view: { publications: [published('here')] }, nodeId: 'here' },
    {
      name: 'uses the node ID of the last publish if the CSINode is missing',
      view: { publications: [published('here')], node: { kind: 'noNode' } },
      nodeId: 'here',
    },
    {
      name: 'uses the node ID of the last of two publishes',
      view: { publications: [published('first'), published('last')] },
      nodeId: 'last',
    },
    {
      name: 'ignores the node ID of a publish of another handle',
      view: { publications: [published('here', 'handle-2')] },
      nodeId: 'node1-id',
    },
  ]

  it('a detach fails if neither the CSINode nor the annotation has a node ID', () => {
    const va = withFinalizer({ ...deleting, nodeId: undefined })
    const steps = decideDetach(view({ va, node: { kind: 'noNode' }, publications: [published('here')] }))
    expect(steps).toMatchObject([{ kind: 'fail' }])
  })

  it.each(rows)('the unpublish request $name', ({ view: change, nodeId }) => {
    const steps = decideDetach(view({ va: withFinalizer({ ...deleting, nodeId: 'old' }), ...change }))
    expect(steps[0]).toMatchObject({ kind: 'unpublish', request: { volumeId: 'handle-1', nodeId } })
  })
})

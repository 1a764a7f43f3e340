import { describe, expect, it } from '@jest/globals'
import { attachment, claimed, csi, DRIVER, FINALIZER, ofPv, view, volume } from '../testing/views.ts'
import { type DetachStep, decideDetach } from './decide-detach.ts'
import type { AttachmentView } from './observe.ts'

const summary = (steps: readonly DetachStep[]): string[] =>
  steps.map((step) => (step.do === 'fail' ? `fail: ${step.message}` : step.do))

const deleting = { deleting: true, attached: true }
const DETACH = ['unpublish', 'unclaim']

describe('decideDetach', () => {
  const rows: { name: string; view: Partial<AttachmentView>; plan: string[] }[] = [
    { name: 'unpublishes, then gives up the claim', view: { va: claimed(deleting) }, plan: DETACH },
    {
      name: 'unpublishes one that was never marked as attached',
      view: { va: claimed({ deleting: true, attached: false }) },
      plan: DETACH,
    },
    {
      name: 'takes one without our finalizer for detached, whatever its status says',
      view: { va: attachment({ ...deleting, finalizers: ['foreign/x'] }) },
      plan: [],
    },
    {
      name: 'unpublishes one without our finalizer when forced, and has no claim to give up',
      view: { va: attachment({ ...deleting, nodeId: 'node1-id' }), forced: true },
      plan: ['unpublish'],
    },
    {
      name: 'only tells the status of one whose claim is given up, while that is owed',
      view: { va: attachment({ ...deleting, finalizers: ['foreign/x'] }), owesStatus: true },
      plan: ['tellDetached'],
    },
    {
      name: 'owes nothing beside a detach, which tells the status itself',
      view: { va: claimed(deleting), owesStatus: true },
      plan: DETACH,
    },
    {
      name: 'does not care that the volume is being deleted',
      view: { va: claimed(deleting), volume: ofPv(volume({}, { deletionTimestamp: '2026-01-01T00:00:00Z' })) },
      plan: DETACH,
    },
    {
      name: 'cannot do without the volume',
      view: { va: claimed(deleting), volume: ofPv(undefined) },
      plan: ['fail: persistentvolume "pv1" not found'],
    },
    {
      name: 'loads the secret first',
      view: {
        va: claimed(deleting),
        volume: ofPv(volume({ csi: csi({ controllerPublishSecretRef: { name: 's', namespace: 'n' } }) })),
      },
      plan: ['loadSecret', ...DETACH],
    },
    {
      name: 'knows a node that is gone by the annotation',
      view: { va: claimed(deleting), node: { known: 'noNode' } },
      plan: DETACH,
    },
    {
      name: 'knows a node that is shut down by the annotation',
      view: { va: claimed(deleting), node: { known: 'noDriver' } },
      plan: DETACH,
    },
    {
      name: 'fails without node and annotation',
      view: { va: claimed({ ...deleting, nodeId: undefined }), node: { known: 'noNode' } },
      plan: ['fail: csinode.storage.k8s.io "node1" not found'],
    },
    {
      name: 'fails without driver on the node and annotation',
      view: { va: claimed({ ...deleting, nodeId: undefined }), node: { known: 'noDriver' } },
      plan: [`fail: CSINode node1 does not contain driver ${DRIVER}`],
    },
    {
      name: 'gives up the claim of a forced one too',
      view: { va: claimed(deleting), forced: true },
      plan: DETACH,
    },
    {
      name: 'takes one without any finalizer for detached',
      view: { va: attachment(deleting) },
      plan: [],
    },
    {
      name: 'does not care that the volume is not held, nor that no access mode of it makes sense',
      view: { va: claimed(deleting), volume: ofPv(volume({ accessModes: [] }, { finalizers: [] })) },
      plan: DETACH,
    },
    {
      name: 'needs no PersistentVolume for an inline volume',
      view: { va: claimed(deleting), volume: { from: 'inline', spec: { csi: csi() } } },
      plan: DETACH,
    },
    {
      name: 'fails on an inline volume that is not CSI',
      view: { va: claimed(deleting), volume: { from: 'inline', spec: {} } },
      plan: ['fail: inline volume spec contains nil CSI source'],
    },
    {
      name: 'fails on a volume that is neither CSI nor translatable',
      view: { va: claimed(deleting), volume: ofPv(volume({ nfs: { server: 's', path: '/' } })) },
      plan: ['fail: pv spec contained non-csi source that was not migrated'],
    },
    {
      name: 'fails without the node, after the secret',
      view: {
        va: claimed({ ...deleting, nodeId: undefined }),
        node: { known: 'noNode' },
        volume: ofPv(volume({ csi: csi({ controllerPublishSecretRef: { name: 's', namespace: 'n' } }) })),
      },
      plan: ['loadSecret', 'fail: csinode.storage.k8s.io "node1" not found'],
    },
    {
      name: 'fails with both sources',
      view: { va: claimed(deleting), volume: { from: 'both' } },
      plan: ['fail: both InlineCSIVolumeSource and PersistentVolumeName specified in VA source'],
    },
    {
      name: 'fails without any source',
      view: { va: claimed(deleting), volume: { from: 'nowhere' } },
      plan: ['fail: neither InlineCSIVolumeSource nor PersistentVolumeName specified in VA source'],
    },
  ]
  it.each(rows)('$name', (row) => {
    expect(summary(decideDetach(view(row.view)))).toStrictEqual(row.plan)
  })

  it('prefers the id of the node to the annotation', () => {
    const steps = decideDetach(view({ va: claimed({ ...deleting, nodeId: 'old' }) }))
    expect(steps[0]).toEqual({
      do: 'unpublish',
      request: { volumeId: 'handle-1', nodeId: 'node1-id' },
      migrated: false,
    })
  })

  const waits: [string, Partial<AttachmentView>, unknown][] = [
    ['the volume', { volume: ofPv(undefined) }, { on: 'volume', name: 'pv1' }],
    [
      'the node',
      { node: { known: 'noNode' }, va: claimed({ ...deleting, nodeId: undefined }) },
      { on: 'node', name: 'node1' },
    ],
    [
      'a volume in the place of one that is not CSI',
      { volume: ofPv(volume({ nfs: { server: 's', path: '/' } })) },
      { on: 'volume', name: 'pv1' },
    ],
    ['nothing that could come', { volume: { from: 'nowhere' } }, undefined],
  ]
  it.each(waits)('waits for %s', (_, change, waitsFor) => {
    expect(decideDetach(view({ va: claimed(deleting), ...change })).at(-1)).toMatchObject({ do: 'fail', waitsFor })
  })

  it('names a translated volume as the publish did, and says that it is migrated', () => {
    const inTree = volume({ gcePersistentDisk: { pdName: 'd' } })
    expect(decideDetach(view({ va: claimed(deleting), volume: ofPv(inTree) }))[0]).toEqual({
      do: 'unpublish',
      request: { volumeId: 'projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d', nodeId: 'node1-id' },
      migrated: true,
    })
  })

  it('names the finalizer that goes', () => {
    expect(decideDetach(view({ va: claimed(deleting) })).at(-1)).toEqual({ do: 'unclaim', finalizer: FINALIZER })
  })
})

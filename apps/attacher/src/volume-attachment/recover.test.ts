import { describe, expect, it } from '@jest/globals'
import type { CachedAttachment } from '../caches/attachment.ts'
import { csi, FINALIZER, ofPv, view, volume, withFinalizer } from '../testing/views.ts'
import { decideAttach } from './decide-attach.ts'
import { decideDetach } from './decide-detach.ts'
import type { AttachmentView } from './observe.ts'
import { addFinalizerPatch } from './patches.ts'

const recovering = { ...view().settings, recoverLostVolumes: true }
const REMEMBERED = { handle: 'handle-1', uid: 'pv1-uid' }
const REMOVE_FINALIZER = { kind: 'removeFinalizer', finalizer: FINALIZER }
const UNPUBLISH = {
  kind: 'unpublish',
  request: { volumeId: 'handle-1', nodeId: 'node1-id' },
  migrated: false,
}

const deleting = (change: Partial<CachedAttachment> = {}): CachedAttachment =>
  withFinalizer({ deleting: true, attached: true, remembered: REMEMBERED, ...change })
const detach = (change: Partial<AttachmentView>): unknown =>
  decideDetach(view({ va: deleting(), settings: recovering, ...change }))
const block = (message: string, kind = 'volume'): unknown => [
  {
    kind: 'block',
    message,
    waitsFor: { kind, name: 'pv1' },
    obstacle: kind === 'volume' ? 'PersistentVolumeMissing' : undefined,
  },
]
const again = (source: object = {}): AttachmentView['volume'] =>
  ofPv(volume({ csi: csi(source) }, { uid: 'other-uid' }))

describe('missing volume', () => {
  it('a detach uses the handle and the node ID in the annotations of the attachment if its PersistentVolume is gone', () => {
    expect(detach({ volume: ofPv(undefined) })).toEqual([
      { kind: 'confirmVolumeIsGone', name: 'pv1' },
      { ...UNPUBLISH, isVolumeLost: true },
      REMOVE_FINALIZER,
    ])
  })

  it('a detach that has unpublished a lost volume does not unpublish again, even if the volume is recreated', () => {
    for (const now of [ofPv(undefined), again({ volumeHandle: 'other' })]) {
      expect(detach({ volume: now, isLostVolumeDetached: true })).toEqual([REMOVE_FINALIZER])
    }
  })

  it.each<[string, Partial<AttachmentView>]>([
    ['--recover-lost-volumes is off', { settings: view().settings }],
    ['the annotations are missing', { va: deleting({ remembered: undefined }) }],
    ['the node is unknown', { va: deleting({ nodeId: undefined }), node: { kind: 'noNode' } }],
  ])('a detach without its PersistentVolume blocks if %s', (_, change) => {
    expect(detach({ volume: ofPv(undefined), ...change })).toEqual(block('persistentvolume "pv1" not found'))
  })
})

describe('recreated volume', () => {
  it('a detach waits while a recreated volume with another handle exists', () => {
    expect(detach({ volume: again({ volumeHandle: 'other' }) })).toEqual(
      block(
        'PersistentVolume "pv1" was recreated after the attach: its uid is other-uid, the uid of the attached volume was pv1-uid',
        'volumeGone',
      ),
    )
  })

  it.each<[string, Partial<AttachmentView>]>([
    ['the volume has the same handle', { volume: again() }],
    ['--recover-lost-volumes is off', { volume: again(), settings: view().settings }],
    ['the annotations are missing', { volume: again(), va: deleting({ remembered: undefined }) }],
  ])('a detach of a recreated PersistentVolume detaches the volume as usual if %s', (_, change) => {
    expect(detach(change)).toEqual([UNPUBLISH, REMOVE_FINALIZER])
  })
})

it('if the UID of the PersistentVolume is unchanged, a detach uses its current handle', () => {
  const request = { volumeId: 'other', nodeId: 'node1-id' }
  const changed = ofPv(volume({ csi: csi({ volumeHandle: 'other' }) }))
  expect(detach({ volume: changed })).toEqual([{ ...UNPUBLISH, request }, REMOVE_FINALIZER])
})

describe('attach', () => {
  const note = (change: Partial<AttachmentView>): unknown =>
    decideAttach(view({ settings: recovering, ...change })).find((step) => step.kind === 'addFinalizer')

  it('an attach with --recover-lost-volumes stores handle and UID of the volume together with the finalizer', () => {
    expect(note({})).toEqual({
      kind: 'addFinalizer',
      nodeId: 'node1-id',
      finalizer: FINALIZER,
      remember: { handle: 'handle-1', uid: 'pv1-uid' },
    })
    expect(
      addFinalizerPatch(withFinalizer(), { nodeId: 'node1-id', finalizer: FINALIZER, remember: REMEMBERED }),
    ).toEqual({
      kind: 'json',
      body: [
        { op: 'test', path: '/metadata/uid', value: 'va1-uid' },
        { op: 'add', path: '/metadata/annotations/csi-sidecars~1volume-handle', value: 'handle-1' },
        { op: 'add', path: '/metadata/annotations/csi-sidecars~1volume-uid', value: 'pv1-uid' },
      ],
    })
  })

  it('an attach writes nothing if handle, UID and finalizer are stored', () => {
    expect(note({ va: withFinalizer({ remembered: REMEMBERED }) })).toBeUndefined()
  })

  it.each<[string, Partial<AttachmentView>]>([
    ['without --recover-lost-volumes', { settings: view().settings }],
    ['for an inline volume', { volume: { kind: 'inline', spec: { accessModes: ['ReadWriteOnce'], csi: csi() } } }],
  ])('an attach stores neither handle nor UID of the volume %s', (_, change) => {
    expect(note(change)).toEqual({ kind: 'addFinalizer', nodeId: 'node1-id', finalizer: FINALIZER })
  })
})

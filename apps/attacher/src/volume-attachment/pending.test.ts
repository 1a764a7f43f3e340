import { beforeEach, describe, expect, it } from '@jest/globals'
import type { CachedAttachment } from '../caches/attachment.ts'
import type { CachedDriverNode } from '../caches/open.ts'
import type { CachedVolume } from '../caches/volume.ts'
import { attachment, view, volume, withFinalizer } from '../testing/views.ts'
import { AttachmentMemory } from './memory.ts'
import { viewOf } from './observe.ts'
import { attachmentTraceSubject, subjectOf } from './pending.ts'

const SINCE_SECONDS = 1_700_000_000

let memory: AttachmentMemory
let pv: CachedVolume | undefined
let node: CachedDriverNode | undefined
beforeEach(() => {
  memory = new AttachmentMemory()
  pv = volume()
  node = { key: 'node1', uid: 'n', resourceVersion: '1', nodeId: 'node1-id' }
})

const subject = (va: CachedAttachment | undefined, key = 'va1'): unknown =>
  subjectOf(key, {
    attachments: { get: () => va },
    memory,
    viewOf: (each) =>
      viewOf(each, {
        volumes: { store: { get: () => pv } },
        nodes: { store: { get: () => node } },
        driver: { capabilities: { controller: new Set() } } as never,
        memory,
        settings: view().settings,
      }),
  })

const SUBJECT = {
  object: { kind: 'VolumeAttachment', namespace: '', name: 'va1', uid: 'va1-uid' },
  volume: 'pv1',
  node: 'node1',
  sinceSeconds: SINCE_SECONDS,
  obstacle: undefined,
}

describe('subjectOf', () => {
  it.each([
    [
      'an attach since the creation',
      attachment({ requestedAtSeconds: SINCE_SECONDS }),
      { ...SUBJECT, operation: 'attach' },
    ],
    [
      'a detach since the deletion',
      withFinalizer({ deleting: true, attached: true, requestedAtSeconds: SINCE_SECONDS }),
      { ...SUBJECT, operation: 'detach' },
    ],
    [
      'nothing for an attached attachment',
      withFinalizer({ attached: true, requestedAtSeconds: SINCE_SECONDS }),
      undefined,
    ],
    ['nothing for a deleted attachment without our finalizer', attachment({ deleting: true }), undefined],
    ['nothing for an attachment of another attacher', attachment({ ours: false }), undefined],
    ['nothing for an attachment that is gone', undefined, undefined],
  ])('the pending work shows %s', (_, va, expected) => {
    expect(subject(va)).toEqual(expected)
  })

  it('the pending work shows an attach without a start time if a listing lacks an attached volume', () => {
    memory.update({ uid: 'va1-uid' }, { listing: 'different' })
    const expected = { ...SUBJECT, operation: 'attach', sinceSeconds: undefined }
    expect(subject(withFinalizer({ attached: true, requestedAtSeconds: SINCE_SECONDS }))).toEqual(expected)
  })

  it('the pending work shows a detach while the status of a detached attachment is outdated', () => {
    memory.update({ uid: 'va1-uid' }, { mustWriteStatus: true })
    expect(subject(attachment({ deleting: true }))).toMatchObject({ operation: 'detach' })
  })

  it('the pending work omits an attachment that the API server reports as gone', () => {
    memory.update({ uid: 'va1-uid' }, { isGone: true })
    expect(subject(attachment())).toBeUndefined()
  })

  it('the pending work shows a detach for a published volume whose attachment is gone', () => {
    memory.recordPublish(
      { uid: 'u' },
      {
        volume: 'h',
        nodeName: 'node1',
        request: { volumeId: 'h', nodeId: 'node1-id' },
        secret: undefined,
        migrated: false,
      },
    )
    const [key = ''] = memory.forget({ uid: 'u' })
    expect(subject(undefined, key)).toEqual({ operation: 'detach', node: 'node1' })
  })
})

describe('obstacles', () => {
  const obstacle = (change: Partial<CachedAttachment> = {}): unknown =>
    (subject(withFinalizer({ attached: false, ...change })) as { obstacle?: string }).obstacle
  const detaching = { deleting: true, attached: true }

  it('a missing volume is an obstacle to a pending attach and to a pending detach', () => {
    pv = undefined
    expect([obstacle(), obstacle(detaching)]).toEqual(['PersistentVolumeMissing', 'PersistentVolumeMissing'])
  })

  it('a volume that is being deleted is an obstacle to a pending attach, but not to a pending detach', () => {
    pv = volume({}, { deletionTimestamp: '2026-01-01T00:00:00Z' })
    expect([obstacle(), obstacle(detaching)]).toEqual(['PersistentVolumeDeleting', undefined])
  })

  it('a missing CSINode is an obstacle to an attach, and to a detach without an annotated node ID', () => {
    node = undefined
    expect([obstacle(), obstacle(detaching), obstacle({ ...detaching, nodeId: undefined })]).toEqual([
      'CSINodeMissing',
      undefined,
      'CSINodeMissing',
    ])
  })

  it('a node without the driver is an obstacle to a pending attach', () => {
    node = { key: 'node1', uid: 'n', resourceVersion: '1', nodeId: undefined }
    expect(obstacle()).toBe('DriverNotOnNode')
  })
})

const TRACED = { key: 'va-1', pvName: 'pv-1', nodeName: 'node-1', deleting: false } as CachedAttachment
const NAMES = { 'k8s.volumeattachment.name': 'va-1', 'k8s.persistentvolume.name': 'pv-1', 'k8s.node.name': 'node-1' }

it.each([
  ['a living attachment', TRACED, { operation: 'attach', names: NAMES, traceparent: undefined }],
  [
    'a deleted attachment',
    { ...TRACED, deleting: true },
    { operation: 'detach', names: NAMES, traceparent: undefined },
  ],
  [
    'an attachment that is gone',
    undefined,
    { operation: 'detach', names: { 'k8s.volumeattachment.name': 'va-1' }, traceparent: undefined },
  ],
  [
    'an attachment with an inline volume and a trace',
    { ...TRACED, pvName: undefined, traceparent: '00-1-2-01' },
    {
      operation: 'attach',
      names: { 'k8s.volumeattachment.name': 'va-1', 'k8s.node.name': 'node-1' },
      traceparent: '00-1-2-01',
    },
  ],
])('a trace span names operation and objects for %s', (_, va, subject) => {
  expect(attachmentTraceSubject({ get: () => va as CachedAttachment | undefined })('va-1')).toEqual(subject)
})

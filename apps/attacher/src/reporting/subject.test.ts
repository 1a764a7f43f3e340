import { FakeClock } from '@csi-sidecars/base/testing'
import { beforeEach, describe, expect, it } from '@jest/globals'
import type { Attachment } from '../caches/attachment.ts'
import type { DriverNode } from '../caches/node.ts'
import type { Volume } from '../caches/volume.ts'
import { attachment, FINALIZER, volume, withFinalizer } from '../testing/views.ts'
import { AttachmentMemory } from '../volume-attachment/memory.ts'
import { subjectOf } from './subject.ts'

const DUE = 1_700_000_000

let memory: AttachmentMemory
let pv: Volume | undefined
let node: DriverNode | undefined
beforeEach(() => {
  memory = new AttachmentMemory({ baseMs: 1_000, maxMs: 60_000, clock: new FakeClock() })
  pv = volume()
  node = { key: 'node1', uid: 'n', resourceVersion: '1', nodeId: 'node1-id' }
})

const subject = (va: Attachment | undefined, key = 'va1'): unknown =>
  subjectOf(key, {
    attachments: { get: () => va },
    volumes: { get: () => pv },
    nodes: { get: () => node },
    memory,
    finalizer: FINALIZER,
  })

const ABOUT = {
  object: { kind: 'VolumeAttachment', namespace: '', name: 'va1', uid: 'va1-uid' },
  volume: 'pv1',
  node: 'node1',
  sinceSeconds: DUE,
  obstacle: undefined,
}

describe('what is due', () => {
  it.each([
    ['an attach, since it was made', attachment({ dueSeconds: DUE }), { ...ABOUT, operation: 'attach' }],
    [
      'a detach, since it was deleted',
      withFinalizer({ deleting: true, attached: true, dueSeconds: DUE }),
      { ...ABOUT, operation: 'detach' },
    ],
    ['nothing for one that is attached', withFinalizer({ attached: true, dueSeconds: DUE }), undefined],
    ['nothing for one without our finalizer', attachment({ deleting: true }), undefined],
    ["nothing for another attacher's", attachment({ ours: false }), undefined],
    ['nothing for one that is gone', undefined, undefined],
  ])('is %s', (_, va, expected) => {
    expect(subject(va)).toEqual(expected)
  })

  it('is another attach where the driver has lost it, since that was noticed', () => {
    memory.noteListing('va1', 'different')
    const expected = { ...ABOUT, operation: 'attach', sinceSeconds: undefined }
    expect(subject(withFinalizer({ attached: true, dueSeconds: DUE }))).toEqual(expected)
  })

  it('is the status of one that is detached and does not say so', () => {
    memory.markStatusPending('va1')
    expect(subject(attachment({ deleting: true }))).toMatchObject({ operation: 'detach' })
  })

  it('is nothing for one that the server has said to be gone', () => {
    memory.markGone({ key: 'va1', uid: 'va1-uid' })
    expect(subject(attachment())).toBeUndefined()
  })

  it('is the detach of an orphaned publication', () => {
    memory.published.publishing({
      uid: 'u',
      volume: 'h',
      nodeName: 'node1',
      request: { volumeId: 'h', nodeId: 'node1-id' },
      secret: undefined,
      migrated: false,
    })
    const [key = ''] = memory.published.attachmentGone('u')
    expect(subject(undefined, key)).toEqual({ operation: 'detach', node: 'node1' })
  })
})

describe('its obstacle', () => {
  const obstacle = (change: Partial<Attachment> = {}): unknown =>
    (subject(withFinalizer({ attached: false, ...change })) as { obstacle?: string }).obstacle
  const detaching = { deleting: true, attached: true }

  it('is a volume that is missing', () => {
    pv = undefined
    expect([obstacle(), obstacle(detaching)]).toEqual(['PersistentVolumeMissing', 'PersistentVolumeMissing'])
  })

  it('is a volume that is being deleted, for an attach only', () => {
    pv = volume({}, { deletionTimestamp: '2026-01-01T00:00:00Z' })
    expect([obstacle(), obstacle(detaching)]).toEqual(['PersistentVolumeDeleting', undefined])
  })

  it('is a node that is missing, unless the attachment knows its id', () => {
    node = undefined
    expect([obstacle(), obstacle(detaching), obstacle({ ...detaching, nodeId: undefined })]).toEqual([
      'CSINodeMissing',
      undefined,
      'CSINodeMissing',
    ])
  })

  it('is a node without the driver', () => {
    node = { key: 'node1', uid: 'n', resourceVersion: '1', nodeId: undefined }
    expect(obstacle()).toBe('DriverNotOnNode')
  })
})

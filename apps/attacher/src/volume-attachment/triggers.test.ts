import type { Trigger } from '@csi-sidecars/controller'
import type { InformerEvent } from '@csi-sidecars/informer'
import { recordingLogger } from '@csi-sidecars/telemetry/testing'
import { beforeEach, describe, expect, it } from '@jest/globals'
import type { CachedAttachment } from '../caches/attachment.ts'
import type { CachedVolume } from '../caches/volume.ts'
import { attachment, FINALIZER, volume, withFinalizer } from '../testing/views.ts'
import {
  isStatusReverted,
  onAttachment,
  onAttachmentEnd,
  onDetachWanted,
  onVolumeAdded,
  wakesOnNode,
  wakesOnVolume,
  wakesOnVolumeGone,
} from './triggers.ts'

const error = { message: 'boom', time: '2026-01-01T00:00:00Z' }
const repeatedError = { message: 'boom', time: '2026-01-01T00:01:00Z' }
let inWork = false
let log: ReturnType<typeof recordingLogger>
const trigger: Trigger<CachedAttachment> = (event) => onAttachment(FINALIZER, log)(event, { isInWork: () => inWork })
beforeEach(() => {
  inWork = false
  log = recordingLogger()
})
const ours = attachment()
const foreign = attachment({ ours: false })

describe('onAttachment', () => {
  it('a new attachment starts a run only if it names this attacher', () => {
    expect([...trigger({ type: 'added', object: ours })]).toEqual(['va1'])
    expect([...trigger({ type: 'added', object: foreign })]).toEqual([])
    expect([...trigger({ type: 'updated', before: foreign, after: foreign, origin: 'resync' })]).toEqual([])
  })

  it('a new attachment starts no run if it is attached, has our finalizer and has no error', () => {
    const added = (va: CachedAttachment): readonly string[] => [...trigger({ type: 'added', object: va })]
    expect(added(withFinalizer({ attached: true }))).toEqual([])
    expect(log.lines.map(({ message }) => message)).toEqual(['VolumeAttachment is already attached'])
    expect(added(attachment({ attached: true }))).toEqual(['va1'])
    expect(added(withFinalizer({ attached: true, attachError: error }))).toEqual(['va1'])
    expect(added(withFinalizer({ attached: true, deleting: true }))).toEqual(['va1'])
  })

  it('the attacher logs an ignored change of an attachment', () => {
    const failed = attachment({ attachError: error })
    const again = attachment({ attachError: repeatedError })
    expect([...trigger({ type: 'updated', before: failed, after: again, origin: 'change' })]).toEqual([])
    expect([...trigger({ type: 'updated', before: foreign, after: foreign, origin: 'change' })]).toEqual([])
    expect([...trigger({ type: 'updated', before: ours, after: ours, origin: 'change' })]).toEqual(['va1'])
    expect(log.lines.map(({ message, pairs }) => [message, pairs])).toEqual([
      ['Ignoring VolumeAttachment change', { VolumeAttachment: 'va1' }],
    ])
  })

  it('a deleted attachment starts no run', () => {
    expect([...trigger({ type: 'deleted', object: ours })]).toEqual([])
  })

  type Origin = 'change' | 'resync'
  const rows: {
    name: string
    before: CachedAttachment
    after: CachedAttachment
    origin: Origin
    inWork?: boolean
    runs: boolean
  }[] = [
    { name: 'a resync', before: ours, after: ours, origin: 'resync', runs: true },
    {
      name: 'a resync of an attached attachment',
      before: withFinalizer({ attached: true }),
      after: withFinalizer({ attached: true }),
      origin: 'resync',
      runs: false,
    },
    {
      name: 'a resync of an attached attachment without our finalizer',
      before: attachment({ attached: true }),
      after: attachment({ attached: true }),
      origin: 'resync',
      runs: true,
    },
    {
      name: 'a label on an attached attachment',
      before: withFinalizer({ attached: true }),
      after: withFinalizer({ attached: true, otherMetadata: '[[["a","b"]],[],[]]' }),
      origin: 'change',
      runs: false,
    },
    {
      name: '`attached` set by another writer',
      before: withFinalizer(),
      after: withFinalizer({ attached: true }),
      origin: 'change',
      runs: true,
    },
    {
      name: 'the deletion of an attached attachment',
      before: withFinalizer({ attached: true }),
      after: withFinalizer({ attached: true, deleting: true }),
      origin: 'change',
      runs: true,
    },
    {
      name: 'a resync of an attachment with an error',
      before: withFinalizer({ attachError: error }),
      after: withFinalizer({ attachError: error }),
      origin: 'resync',
      runs: true,
    },
    { name: 'any change while there is no error', before: ours, after: withFinalizer(), origin: 'change', runs: true },
    {
      name: 'a new error',
      before: withFinalizer(),
      after: withFinalizer({ attachError: error }),
      origin: 'change',
      runs: false,
    },
    {
      name: 'the same error at another time',
      before: withFinalizer({ attachError: error }),
      after: withFinalizer({ attachError: repeatedError }),
      origin: 'change',
      runs: false,
    },
    {
      name: 'the error of a forced attach at another time',
      before: withFinalizer({ attached: true, attachError: error }),
      after: withFinalizer({ attached: true, attachError: repeatedError }),
      origin: 'change',
      runs: false,
    },
    {
      name: 'a removed error',
      before: withFinalizer({ detachError: error }),
      after: withFinalizer(),
      origin: 'change',
      runs: false,
    },
    {
      name: 'a label changed during the back-off',
      before: withFinalizer({ attachError: error }),
      after: withFinalizer({ attachError: error, otherMetadata: '[[["a","b"]],[],[]]' }),
      origin: 'change',
      runs: true,
    },
    {
      name: 'a deletion during the back-off',
      before: withFinalizer({ attachError: error }),
      after: withFinalizer({ attachError: error, deleting: true }),
      origin: 'change',
      runs: true,
    },
    {
      name: 'a finalizer that another writer added during the back-off',
      before: withFinalizer({ attachError: error }),
      after: withFinalizer({ attachError: error, finalizers: [FINALIZER, 'a/b'] }),
      origin: 'change',
      runs: true,
    },
    {
      name: '`attached` reverted by another writer',
      before: withFinalizer({ attached: true, attachError: error }),
      after: withFinalizer({ attached: false, attachError: error }),
      origin: 'change',
      runs: true,
    },
    {
      name: 'a node ID that another writer changed during the back-off',
      before: withFinalizer({ attachError: error }),
      after: withFinalizer({ attachError: error, nodeId: 'other' }),
      origin: 'change',
      runs: true,
    },
    {
      name: 'a publish context that another writer changed together with the error',
      before: withFinalizer({ attachError: error }),
      after: withFinalizer({ attachError: error, metadata: { a: 'b' } }),
      origin: 'change',
      runs: true,
    },
    {
      name: 'an absent publish context that became empty, and an absent `attached` that became false',
      before: withFinalizer({ attachError: error, attached: undefined }),
      after: withFinalizer({ attachError: repeatedError, metadata: {} }),
      origin: 'change',
      runs: false,
    },
    {
      name: 'our finalizer that another writer removed together with the error',
      before: withFinalizer({ attachError: error }),
      after: withFinalizer({ attachError: error, finalizers: [] }),
      origin: 'change',
      runs: true,
    },
    {
      name: '`attached` reverted during a run, which checks its status at its end',
      before: withFinalizer({ attached: true }),
      after: withFinalizer({ attached: false }),
      origin: 'change',
      inWork: true,
      runs: false,
    },
    {
      name: 'our finalizer that another writer removed during a run',
      before: withFinalizer({ attached: true }),
      after: attachment({ attached: true }),
      origin: 'change',
      inWork: true,
      runs: true,
    },
    {
      name: 'our finalizer that our detach removed',
      before: withFinalizer({ deleting: true }),
      after: attachment({ deleting: true }),
      origin: 'change',
      inWork: true,
      runs: false,
    },
    {
      name: 'absent finalizers that became an empty list',
      before: attachment({ attachError: error }),
      after: attachment({ attachError: repeatedError, finalizers: [] }),
      origin: 'change',
      runs: false,
    },
    {
      name: 'our finalizer that our attach added',
      before: ours,
      after: withFinalizer(),
      origin: 'change',
      inWork: true,
      runs: false,
    },
    {
      name: 'our finalizer that the watch delivers before the answer to our patch',
      before: ours,
      after: withFinalizer(),
      origin: 'change',
      inWork: true,
      runs: false,
    },
    {
      name: 'a deletion while a run is under way',
      before: withFinalizer(),
      after: withFinalizer({ deleting: true }),
      origin: 'change',
      inWork: true,
      runs: true,
    },
    {
      name: 'our status write after a success',
      before: withFinalizer(),
      after: withFinalizer({ attached: true, metadata: { a: 'b' } }),
      origin: 'change',
      inWork: true,
      runs: false,
    },
    {
      name: 'our own write whose answer shows a deletion',
      before: ours,
      after: withFinalizer({ deleting: true }),
      origin: 'change',
      inWork: true,
      runs: true,
    },
    {
      name: "our own write whose answer shows another writer's finalizer",
      before: ours,
      after: withFinalizer({ finalizers: ['a/b', FINALIZER] }),
      origin: 'change',
      inWork: true,
      runs: true,
    },
  ]
  it.each(rows)('$name starts a run of the attachment: $runs', ({ before, after, origin, runs, ...row }) => {
    inWork = row.inWork === true
    expect([...trigger({ type: 'updated', before, after, origin })]).toEqual(runs ? ['va1'] : [])
  })
})

describe('onDetachWanted', () => {
  const leaving = attachment({ deleting: true })

  it.each<[string, InformerEvent<CachedAttachment>, string[]]>([
    ['whose deletion begins', { type: 'updated', before: ours, after: leaving, origin: 'change' }, ['va1']],
    ['that is already being deleted', { type: 'updated', before: leaving, after: leaving, origin: 'change' }, []],
    ['that changes', { type: 'updated', before: ours, after: withFinalizer(), origin: 'change' }, []],
    ['that is being deleted at the start', { type: 'added', object: leaving }, []],
    ['that is gone', { type: 'deleted', object: leaving }, []],
  ])(
    'only the start of a deletion makes the attacher forget the failures of the attach: an attachment %s',
    (_, event, keys) => {
      expect([...onDetachWanted(event)]).toEqual(keys)
    },
  )
})

describe('onAttachmentEnd', () => {
  const orphanedPublicationsOn = (nodeName: string): string[] => [`left on ${nodeName}`]
  const trigger = onAttachmentEnd({ orphanedPublicationsOn })
  const before = attachment()

  it.each<[string, InformerEvent<CachedAttachment>, string[]]>([
    ['an attachment is deleted', { type: 'deleted', object: before }, ['left on node1']],
    [
      'an attachment is being deleted',
      { type: 'updated', before, after: attachment({ deleting: true }), origin: 'change' },
      ['left on node1'],
    ],
    ['an attachment is created', { type: 'added', object: before }, []],
    ['an attachment changes', { type: 'updated', before, after: withFinalizer(), origin: 'change' }, []],
  ])('the attacher decides whether to unpublish orphaned volumes when %s: case %#', (_, event, keys) => {
    expect([...trigger(event)]).toEqual(keys)
  })
})

it('a created volume starts runs of our attachments that are not attached or are being deleted', () => {
  const of = (...attachments: CachedAttachment[]): Trigger<CachedVolume> => onVolumeAdded(() => attachments)
  const waiting = attachment()
  const leaving = withFinalizer({ key: 'va2', attached: true, deleting: true })
  const rest = [withFinalizer({ attached: true }), attachment({ ours: false })]
  const trigger = of(waiting, leaving, ...rest)
  expect([...trigger({ type: 'added', object: volume() })]).toEqual(['va1', 'va2'])
  expect([...trigger({ type: 'deleted', object: volume() })]).toEqual([])
})

it.each([
  ['another writer sets `attached` to false', withFinalizer({ attached: true }), withFinalizer(), true],
  ['a detach sets `attached` to false', withFinalizer({ attached: true }), withFinalizer({ deleting: true }), false],
  ['an attach succeeds', withFinalizer(), withFinalizer({ attached: true }), false],
  ['an attachment stays detached', withFinalizer(), withFinalizer({ nodeId: 'other' }), false],
  ['an attachment stays attached', withFinalizer({ attached: true }), withFinalizer({ attached: true }), false],
])('the attacher decides whether the status was reverted when %s: case %#', (_, before, after, is) => {
  expect(isStatusReverted({ before, after })).toBe(is)
})

describe('wake events', () => {
  const node = (
    nodeId: string | undefined,
  ): { key: string; uid: string; resourceVersion: string; nodeId: string | undefined } => ({
    key: 'node1',
    uid: 'u',
    resourceVersion: '1',
    nodeId,
  })

  it('waiting attachments wake when their volume is created, deleted or gets other access modes', () => {
    expect(wakesOnVolume({ type: 'added', object: volume() })).toEqual([{ kind: 'volume', name: 'pv1' }])
    expect(wakesOnVolumeGone({ type: 'deleted', object: volume() })).toEqual([{ kind: 'volumeGone', name: 'pv1' }])
    expect(wakesOnVolume({ type: 'updated', before: volume(), after: volume(), origin: 'change' })).toEqual([])
    const corrected = volume({ accessModes: ['ReadWriteMany'] })
    expect(wakesOnVolume({ type: 'updated', before: volume(), after: corrected, origin: 'change' })).toEqual([
      { kind: 'volume', name: 'pv1' },
    ])
    expect(wakesOnNode({ type: 'deleted', object: node('id') })).toEqual([])
    expect(wakesOnVolume({ type: 'deleted', object: volume() })).toEqual([])
    expect(wakesOnVolumeGone({ type: 'added', object: volume() })).toEqual([])
  })

  it.each([
    { name: 'a CSINode is created with the driver', before: undefined, nodeId: 'id', is: true },
    { name: 'a CSINode is created without the driver', before: undefined, nodeId: undefined, is: false },
    { name: 'the driver registers on a node', before: node(undefined), nodeId: 'id', is: true },
    { name: 'the driver registers again with another ID', before: node('old'), nodeId: 'id', is: true },
    { name: 'a CSINode changes in another field', before: node('id'), nodeId: 'id', is: false },
    { name: 'the driver is removed from a node', before: node('id'), nodeId: undefined, is: false },
  ])('waiting attachments wake when $name: $is', ({ before, nodeId, is }) => {
    const after = node(nodeId)
    const wakes =
      before === undefined
        ? wakesOnNode({ type: 'added', object: after })
        : wakesOnNode({ type: 'updated', before, after, origin: 'change' })
    expect(wakes).toEqual(is ? [{ kind: 'node', name: 'node1' }] : [])
  })
})

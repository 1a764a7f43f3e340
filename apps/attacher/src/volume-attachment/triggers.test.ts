import type { Trigger } from '@csi-sidecars/controller'
import type { InformerEvent } from '@csi-sidecars/informer'
import { recordingLogger } from '@csi-sidecars/telemetry/testing'
import { beforeEach, describe, expect, it } from '@jest/globals'
import type { CachedAttachment } from '../caches/attachment.ts'
import type { CachedVolume } from '../caches/volume.ts'
import { attachment, FINALIZER, volume, withFinalizer } from '../testing/views.ts'
import {
  causesOfNode,
  causesOfVolume,
  isStatusReverted,
  onAttachment,
  onAttachmentEnd,
  onVolumeAdded,
} from './triggers.ts'

const error = { message: 'boom', time: '2026-01-01T00:00:00Z' }
const later = { message: 'boom', time: '2026-01-01T00:01:00Z' }
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
  it('returns a new attachment of ours, and none of another attacher', () => {
    expect([...trigger({ type: 'added', object: ours })]).toEqual(['va1'])
    expect([...trigger({ type: 'added', object: foreign })]).toEqual([])
    expect([...trigger({ type: 'updated', before: foreign, after: foreign, cause: 'resync' })]).toEqual([])
  })

  it('ignores a new attachment at rest, unless it lacks our finalizer or has an error', () => {
    const added = (va: CachedAttachment): readonly string[] => [...trigger({ type: 'added', object: va })]
    expect(added(withFinalizer({ attached: true }))).toEqual([])
    expect(log.lines.map(({ message }) => message)).toEqual(['VolumeAttachment is already attached'])
    expect(added(attachment({ attached: true }))).toEqual(['va1'])
    expect(added(withFinalizer({ attached: true, attachError: error }))).toEqual(['va1'])
    expect(added(withFinalizer({ attached: true, deleting: true }))).toEqual(['va1'])
  })

  it('logs a change that it ignores', () => {
    const failed = attachment({ attachError: error })
    const again = attachment({ attachError: later })
    expect([...trigger({ type: 'updated', before: failed, after: again, cause: 'watch' })]).toEqual([])
    expect([...trigger({ type: 'updated', before: foreign, after: foreign, cause: 'watch' })]).toEqual([])
    expect([...trigger({ type: 'updated', before: ours, after: ours, cause: 'watch' })]).toEqual(['va1'])
    expect(log.lines.map(({ message, pairs }) => [message, pairs])).toEqual([
      ['Ignoring VolumeAttachment change', { VolumeAttachment: 'va1' }],
    ])
  })

  it('ignores a deletion', () => {
    expect([...trigger({ type: 'deleted', object: ours })]).toEqual([])
  })

  type Cause = 'watch' | 'own' | 'resync'
  const rows: {
    name: string
    before: CachedAttachment
    after: CachedAttachment
    cause: Cause
    inWork?: boolean
    runs: boolean
  }[] = [
    { name: 'a resync', before: ours, after: ours, cause: 'resync', runs: true },
    {
      name: 'a resync of one that is attached',
      before: withFinalizer({ attached: true }),
      after: withFinalizer({ attached: true }),
      cause: 'resync',
      runs: false,
    },
    {
      name: 'a resync of one that is attached without our finalizer',
      before: attachment({ attached: true }),
      after: attachment({ attached: true }),
      cause: 'resync',
      runs: true,
    },
    {
      name: 'a label of one that is attached',
      before: withFinalizer({ attached: true }),
      after: withFinalizer({ attached: true, rest: '[[["a","b"]],[],[]]' }),
      cause: 'watch',
      runs: false,
    },
    {
      name: 'attached by another writer',
      before: withFinalizer(),
      after: withFinalizer({ attached: true }),
      cause: 'watch',
      runs: true,
    },
    {
      name: 'a deletion of one that is attached',
      before: withFinalizer({ attached: true }),
      after: withFinalizer({ attached: true, deleting: true }),
      cause: 'watch',
      runs: true,
    },
    {
      name: 'a resync of one with an error',
      before: withFinalizer({ attachError: error }),
      after: withFinalizer({ attachError: error }),
      cause: 'resync',
      runs: true,
    },
    { name: 'any change while there is no error', before: ours, after: withFinalizer(), cause: 'watch', runs: true },
    {
      name: 'a new error',
      before: withFinalizer(),
      after: withFinalizer({ attachError: error }),
      cause: 'watch',
      runs: false,
    },
    {
      name: 'the same error at another time',
      before: withFinalizer({ attachError: error }),
      after: withFinalizer({ attachError: later }),
      cause: 'watch',
      runs: false,
    },
    {
      name: 'the error of a forced attach at another time',
      before: withFinalizer({ attached: true, attachError: error }),
      after: withFinalizer({ attached: true, attachError: later }),
      cause: 'watch',
      runs: false,
    },
    {
      name: 'an error that is gone',
      before: withFinalizer({ detachError: error }),
      after: withFinalizer(),
      cause: 'watch',
      runs: false,
    },
    {
      name: 'a label changed during the back-off',
      before: withFinalizer({ attachError: error }),
      after: withFinalizer({ attachError: error, rest: '[[["a","b"]],[],[]]' }),
      cause: 'watch',
      runs: true,
    },
    {
      name: 'a deletion during the back-off',
      before: withFinalizer({ attachError: error }),
      after: withFinalizer({ attachError: error, deleting: true }),
      cause: 'watch',
      runs: true,
    },
    {
      name: 'a finalizer that another writer added during the back-off',
      before: withFinalizer({ attachError: error }),
      after: withFinalizer({ attachError: error, finalizers: [FINALIZER, 'a/b'] }),
      cause: 'watch',
      runs: true,
    },
    {
      name: 'attached reverted by another writer',
      before: withFinalizer({ attached: true, attachError: error }),
      after: withFinalizer({ attached: false, attachError: error }),
      cause: 'watch',
      runs: true,
    },
    {
      name: 'a node id that another writer changed during the back-off',
      before: withFinalizer({ attachError: error }),
      after: withFinalizer({ attachError: error, nodeId: 'other' }),
      cause: 'watch',
      runs: true,
    },
    {
      name: 'a context that another writer changed beside the error',
      before: withFinalizer({ attachError: error }),
      after: withFinalizer({ attachError: error, metadata: { a: 'b' } }),
      cause: 'watch',
      runs: true,
    },
    {
      name: 'an absent context that became an empty one, and an absent attached that became false',
      before: withFinalizer({ attachError: error, attached: undefined }),
      after: withFinalizer({ attachError: later, metadata: {} }),
      cause: 'watch',
      runs: false,
    },
    {
      name: 'a finalizer of ours that another writer removed beside the error',
      before: withFinalizer({ attachError: error }),
      after: withFinalizer({ attachError: error, finalizers: [] }),
      cause: 'watch',
      runs: true,
    },
    {
      name: 'attached reverted while a run is under way, which sees it in the end',
      before: withFinalizer({ attached: true }),
      after: withFinalizer({ attached: false }),
      cause: 'watch',
      inWork: true,
      runs: false,
    },
    {
      name: 'a finalizer of ours that another writer takes away while a run is under way',
      before: withFinalizer({ attached: true }),
      after: attachment({ attached: true }),
      cause: 'watch',
      inWork: true,
      runs: true,
    },
    {
      name: 'a finalizer of ours that our detach takes away',
      before: withFinalizer({ deleting: true }),
      after: attachment({ deleting: true }),
      cause: 'own',
      inWork: true,
      runs: false,
    },
    {
      name: 'absent finalizers that became an empty list',
      before: attachment({ attachError: error }),
      after: attachment({ attachError: later, finalizers: [] }),
      cause: 'watch',
      runs: false,
    },
    { name: 'our own finalizer', before: ours, after: withFinalizer(), cause: 'own', runs: false },
    {
      name: 'our own finalizer that the watch brings before its answer',
      before: ours,
      after: withFinalizer(),
      cause: 'watch',
      inWork: true,
      runs: false,
    },
    {
      name: 'a deletion while a run is under way',
      before: withFinalizer(),
      after: withFinalizer({ deleting: true }),
      cause: 'watch',
      inWork: true,
      runs: true,
    },
    {
      name: 'our own success',
      before: withFinalizer(),
      after: withFinalizer({ attached: true, metadata: { a: 'b' } }),
      cause: 'own',
      runs: false,
    },
    {
      name: 'our own write whose answer shows a deletion',
      before: ours,
      after: withFinalizer({ deleting: true }),
      cause: 'own',
      runs: true,
    },
    {
      name: "our own write whose answer shows another writer's finalizer",
      before: ours,
      after: withFinalizer({ finalizers: ['a/b', FINALIZER] }),
      cause: 'own',
      runs: true,
    },
  ]
  it.each(rows)('$name: $runs', ({ before, after, cause, runs, ...row }) => {
    inWork = row.inWork === true
    expect([...trigger({ type: 'updated', before, after, cause })]).toEqual(runs ? ['va1'] : [])
  })
})

describe('onAttachmentEnd', () => {
  const orphanedPublicationsOn = (nodeName: string): string[] => [`left on ${nodeName}`]
  const trigger = onAttachmentEnd({ orphanedPublicationsOn })
  const before = attachment()

  it.each<[string, InformerEvent<CachedAttachment>, string[]]>([
    ['an attachment of that node ends', { type: 'deleted', object: before }, ['left on node1']],
    [
      'one is to go',
      { type: 'updated', before, after: attachment({ deleting: true }), cause: 'watch' },
      ['left on node1'],
    ],
    ['one comes', { type: 'added', object: before }, []],
    ['one changes', { type: 'updated', before, after: withFinalizer(), cause: 'watch' }, []],
  ])('returns the publications of the node when %s', (_, event, keys) => {
    expect([...trigger(event)]).toEqual(keys)
  })
})

it('`onVolumeAdded` returns our attachments of the volume that are not attached, or being deleted', () => {
  const of = (...attachments: CachedAttachment[]): Trigger<CachedVolume> => onVolumeAdded(() => attachments)
  const waiting = attachment()
  const leaving = withFinalizer({ key: 'va2', attached: true, deleting: true })
  const rest = [withFinalizer({ attached: true }), attachment({ ours: false })]
  const trigger = of(waiting, leaving, ...rest)
  expect([...trigger({ type: 'added', object: volume() })]).toEqual(['va1', 'va2'])
  expect([...trigger({ type: 'deleted', object: volume() })]).toEqual([])
})

it.each([
  ['a reset', withFinalizer({ attached: true }), withFinalizer(), true],
  ['a detach', withFinalizer({ attached: true }), withFinalizer({ deleting: true }), false],
  ['a success', withFinalizer(), withFinalizer({ attached: true }), false],
])('`isStatusReverted` returns for %s', (_, before, after, is) => {
  expect(isStatusReverted({ before, after })).toBe(is)
})

describe('causes', () => {
  const node = (
    nodeId: string | undefined,
  ): { key: string; uid: string; resourceVersion: string; nodeId: string | undefined } => ({
    key: 'node1',
    uid: 'u',
    resourceVersion: '1',
    nodeId,
  })

  it('a created volume, a deleted volume and changed access modes are causes', () => {
    expect(causesOfVolume({ type: 'added', object: volume() })).toEqual([{ on: 'volume', name: 'pv1' }])
    expect(causesOfVolume({ type: 'deleted', object: volume() })).toEqual([{ on: 'volumeGone', name: 'pv1' }])
    expect(causesOfVolume({ type: 'updated', before: volume(), after: volume(), cause: 'watch' })).toEqual([])
    const corrected = volume({ accessModes: ['ReadWriteMany'] })
    expect(causesOfVolume({ type: 'updated', before: volume(), after: corrected, cause: 'watch' })).toEqual([
      { on: 'volume', name: 'pv1' },
    ])
    expect(causesOfNode({ type: 'deleted', object: node('id') })).toEqual([])
  })

  it.each([
    { name: 'a node that appears with the driver', before: undefined, nodeId: 'id', is: true },
    { name: 'a node that appears without the driver', before: undefined, nodeId: undefined, is: false },
    { name: 'a driver that comes to a node', before: node(undefined), nodeId: 'id', is: true },
    { name: 'a driver that comes back under another id', before: node('old'), nodeId: 'id', is: true },
    { name: 'a node that changes otherwise', before: node('id'), nodeId: 'id', is: false },
    { name: 'a driver that leaves', before: node('id'), nodeId: undefined, is: false },
  ])('$name: $is', ({ before, nodeId, is }) => {
    const after = node(nodeId)
    const causes =
      before === undefined
        ? causesOfNode({ type: 'added', object: after })
        : causesOfNode({ type: 'updated', before, after, cause: 'watch' })
    expect(causes).toEqual(is ? [{ on: 'node', name: 'node1' }] : [])
  })
})

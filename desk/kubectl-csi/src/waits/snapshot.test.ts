import { expect, it } from '@jest/globals'
import {
  type ContentContext,
  contentWait,
  type SnapshotContext,
  type SourceContext,
  snapshotWait,
  sourceWait,
} from './snapshot.ts'

const SNAPSHOT: SnapshotContext = {
  deleting: false,
  finalizers: ['snapshot.storage.kubernetes.io/volumesnapshot-bound-protection'],
  ready: false,
  error: undefined,
  claim: 'present',
  class: 'present',
  content: 'none',
  restoring: [],
}
const SOURCE = 'snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection'

it.each<[name: string, change: Partial<SnapshotContext>, reason: string | undefined]>([
  ['a snapshot without a content waits for the content', {}, 'ContentNotCreated'],
  ['a ready snapshot waits for nothing', { ready: true, content: 'present' }, undefined],
  ['a snapshot with a content waits for the content', { content: 'present', claim: 'missing' }, 'ContentNotReady'],
  ['a snapshot of a missing claim is blocked', { claim: 'missing', class: 'missing' }, 'SourceClaimMissing'],
  ['a snapshot of a claim without a volume waits until the claim is bound', { claim: 'waits' }, 'SourceClaimNotBound'],
  [
    'a snapshot of a missing pre-provisioned content is blocked',
    { claim: undefined, content: 'missing' },
    'ContentMissing',
  ],
  ['a snapshot with a missing class is blocked', { class: 'missing' }, 'SnapshotClassMissing'],
  ['a snapshot without any class is blocked', { class: 'none' }, 'NoSnapshotClass'],
  [
    'a deleted snapshot waits for claims that are restored from it',
    { deleting: true, finalizers: [SOURCE], restoring: ['c'] },
    'SnapshotInUse',
  ],
  ['a deleted snapshot waits for its content', { deleting: true, content: 'present' }, 'ContentDeleting'],
  [
    'a deleted snapshot without a content waits for its end',
    { deleting: true, finalizers: [SOURCE] },
    'SnapshotDeleting',
  ],
  ['a deleted snapshot waits for no foreign finalizers', { deleting: true, finalizers: ['a/b'] }, undefined],
])('%s', (_, change, reason) => {
  expect(snapshotWait({ ...SNAPSHOT, ...change })).toBe(reason)
})

const CONTENT: ContentContext = {
  deleting: false,
  finalizers: ['snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection'],
  ready: false,
  hasHandle: false,
  error: undefined,
  deleteError: undefined,
  beingCreated: false,
  beingDeleted: false,
  isMember: false,
  class: 'present',
  snapshot: 'present',
}

it.each<[name: string, change: Partial<ContentContext>, reason: string | undefined]>([
  ['the reason of a new content is that its snapshot has not begun', {}, 'SnapshotNotBegun'],
  ['a ready content waits for nothing', { ready: true, class: 'missing' }, undefined],
  ['a content with a missing class is blocked', { class: 'missing', error: 'no' }, 'SnapshotClassMissing'],
  ['a content with an error is reported as a failing snapshot', { error: 'no', hasHandle: true }, 'SnapshotFails'],
  ['a content with a handle waits for the driver', { hasHandle: true }, 'SnapshotNotReady'],
  ['a content of a group snapshot waits for the handles of the group', { isMember: true }, 'MemberNotReported'],
  [
    'a deleted content waits for a creation that may be running',
    { deleting: true, beingCreated: true, beingDeleted: true },
    'CreationUncertain',
  ],
  ['a deleted content waits for its VolumeSnapshot', { deleting: true }, 'SnapshotNotDeleted'],
  ['a deleted content without a VolumeSnapshot is blocked', { deleting: true, snapshot: 'missing' }, 'SnapshotMissing'],
  ['a deleted content waits for the driver', { deleting: true, beingDeleted: true }, 'SnapshotDeleting'],
  [
    'a deleted content waits because the deletion of its snapshot has failed',
    { deleting: true, beingDeleted: true, deleteError: 'no' },
    'DeleteSnapshotFails',
  ],
  ['a deleted content waits for no foreign finalizers', { deleting: true, finalizers: ['a/b'] }, undefined],
])('%s', (_, change, reason) => {
  expect(contentWait({ ...CONTENT, ...change })).toBe(reason)
})

it.each<[kind: SourceContext['kind'], state: SourceContext['state'], reason: string | undefined]>([
  ['VolumeSnapshot', 'missing', 'RestoreSourceMissing'],
  ['VolumeSnapshot', 'waits', 'RestoreSourceNotReady'],
  ['VolumeSnapshot', 'present', undefined],
  ['PersistentVolumeClaim', 'missing', 'CloneSourceMissing'],
  ['PersistentVolumeClaim', 'waits', 'CloneSourceNotBound'],
  ['PersistentVolumeClaim', undefined, undefined],
])('a claim whose source is a %s in the state %s waits for the reason %s', (kind, state, reason) => {
  expect(sourceWait({ kind, state })).toBe(reason)
})

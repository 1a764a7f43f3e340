import type { KubeObject } from '@csi-sidecars/kube-types'
import { describe, expect, it } from '@jest/globals'
import { GROUP_NAMES, MEMBER_ANNOTATION, SNAPSHOT_NAMES } from '../caches/names.ts'
import { DRIVER, preProvisioned, preProvisionedGroup, vgsc, vsc } from '../testing/objects.ts'
import { type ContentStep, decide, isDeletionStep } from './decide.ts'
import { type ContentKind, GROUP, SNAPSHOT } from './kinds.ts'

interface Facts {
  readonly classDriver?: string
  /** The handles of snapshots that another content names. */
  readonly shared?: readonly string[]
  readonly isKeptForOther?: boolean
  readonly driverHasDeleted?: boolean
}

function stepsOf(
  kind: ContentKind,
  object: KubeObject,
  { classDriver, shared = [], isKeptForOther = false, driverHasDeleted = false }: Facts = {},
): readonly string[] {
  const content = kind.project(DRIVER)(object)
  if (content === undefined) return ['not cached']
  const snapshotClass = { key: 'k', uid: '', resourceVersion: '', driver: classDriver ?? '', parameters: {} }
  const view = {
    content,
    kind,
    driverName: DRIVER,
    snapshotClass: classDriver === undefined ? undefined : snapshotClass,
    driverHasDeleted,
    isKeptForOther,
    isNamedByOther: (handle: string) => shared.includes(handle),
  }
  return decide(view).map((step) => {
    switch (step.kind) {
      case 'create':
        return `create as ${step.phase}`
      case 'delete':
        return `delete ${[step.handle, ...step.members].join(' ')}`
      case 'keepForOther':
        return `keep ${step.handle}`
      case 'awaitHandles':
        return `await the ${step.waitsFor.kind} of ${step.waitsFor.name}`
      case 'check':
      case 'removeBeingCreated':
      case 'clearStatus':
      case 'removeFinalizer':
        return step.kind
      default:
        return step satisfies never
    }
  })
}

const deleted = (names: typeof SNAPSHOT_NAMES, ...annotations: readonly (keyof typeof SNAPSHOT_NAMES)[]): object => ({
  deletionTimestamp: '2026-01-01T00:00:00Z',
  annotations: Object.fromEntries(annotations.map((each) => [names[each], 'yes'])),
})

const READY = { snapshotHandle: 'snap-1', readyToUse: true }
const UNREADY = { snapshotHandle: 'snap-1', readyToUse: false }
const FAILED = { readyToUse: false, error: { message: 'no' } }
const CLEARED = { error: { message: 'no' } }
const withAnnotation = { annotations: { [SNAPSHOT_NAMES.beingCreated]: 'yes' } }
const member = { annotations: { [MEMBER_ANNOTATION]: 'group-1' } }
const MEMBER_STATUS = { snapshotHandle: 'snap-m', volumeGroupSnapshotHandle: 'group-1' }
const gone = deleted(SNAPSHOT_NAMES, 'beingDeleted')
const unbound = { volumeSnapshotRef: { uid: null } }
const retained = { deletionPolicy: 'Retain' }

describe('single content', () => {
  it.each<[name: string, change: object, steps: readonly string[]]>([
    ['creates the snapshot if the status is missing', {}, ['create as create']],
    ['creates again after a failure', { status: FAILED }, ['create as check']],
    ['creates again if the status is empty', { status: {} }, ['create as check']],
    ['repeats the call if the snapshot is not ready', { status: UNREADY }, ['create as check']],
    ['does nothing if the snapshot is ready', { status: READY }, []],
    ['removes the annotation of a ready snapshot', { status: READY, metadata: withAnnotation }, ['removeBeingCreated']],
    ['repeats the call despite the annotation', { status: UNREADY, metadata: withAnnotation }, ['create as check']],
    ['never sees a content of another driver', { spec: { driver: 'other.example.com' } }, ['not cached']],
    ['does nothing without a source', { spec: { source: { volumeHandle: null } } }, []],
    ['waits for the handles of a group member', { metadata: member }, ['await the handles of c']],
    ['waits for the group of a group member', { metadata: member, status: UNREADY }, ['await the handles of c']],
    [
      'waits for the own handle of a group member',
      { metadata: member, status: { volumeGroupSnapshotHandle: 'group-1' } },
      ['await the handles of c'],
    ],
    ['checks a group member with both handles', { metadata: member, status: MEMBER_STATUS }, ['check']],
    [
      'creates the snapshot of a deleted content without the annotation being-deleted',
      { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } },
      ['create as create'],
    ],
    [
      'does nothing for a ready deleted content without the annotation being-deleted',
      { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' }, status: READY },
      [],
    ],
    [
      'deletes the snapshot of a deleted content',
      { metadata: gone, status: READY },
      ['delete snap-1', 'clearStatus', 'removeFinalizer'],
    ],
    [
      'deletes the snapshot of a deleted content without our finalizer',
      { metadata: { ...gone, finalizers: null }, status: READY },
      ['delete snap-1', 'clearStatus'],
    ],
    [
      'does not delete the snapshot of a deleted content without a VolumeSnapshot before the snapshot-controller permits it',
      { metadata: deleted(SNAPSHOT_NAMES), spec: unbound, status: READY },
      [],
    ],
    ['only removes the finalizer with Retain', { metadata: gone, status: READY, spec: retained }, ['removeFinalizer']],
    ['only removes the finalizer without a snapshot', { metadata: gone }, ['removeFinalizer']],
    ['only removes the finalizer after a failure', { metadata: gone, status: FAILED }, ['removeFinalizer']],
    ['only removes the finalizer after a deletion', { metadata: gone, status: CLEARED }, ['removeFinalizer']],
    [
      'only removes the finalizer of a group member',
      { metadata: gone, status: { ...READY, ...MEMBER_STATUS } },
      ['removeFinalizer'],
    ],
    [
      'repeats an uncertain creation before the deletion',
      { metadata: deleted(SNAPSHOT_NAMES, 'beingDeleted', 'beingCreated') },
      ['create as create'],
    ],
    [
      'removes the annotation of a ready deleted content first',
      { metadata: deleted(SNAPSHOT_NAMES, 'beingDeleted', 'beingCreated'), status: READY },
      ['removeBeingCreated'],
    ],
  ])('the snapshotter %s', (_, change, steps) => {
    expect(stepsOf(SNAPSHOT, vsc('c', change))).toEqual(steps)
  })

  it.each<[name: string, change: object, steps: readonly string[]]>([
    ['is checked', {}, ['check']],
    ['is checked while it is unbound', { spec: unbound }, ['check']],
    ['is checked again after a failure', { status: FAILED }, ['check']],
    ['is left alone when it is ready', { status: READY }, []],
    ['is not deleted while it is bound', { metadata: deleted(SNAPSHOT_NAMES) }, ['check']],
    [
      'is deleted while it is unbound',
      { metadata: deleted(SNAPSHOT_NAMES), spec: unbound, status: READY },
      ['delete snap-1', 'clearStatus', 'removeFinalizer'],
    ],
    ['is deleted before the first check', { metadata: gone }, ['delete snap-given', 'removeFinalizer']],
    [
      'is deleted after a failed check',
      { metadata: gone, status: FAILED },
      ['delete snap-given', 'clearStatus', 'removeFinalizer'],
    ],
    ['is not deleted twice', { metadata: gone, status: CLEARED }, ['removeFinalizer']],
    [
      'of a group is not deleted by the handle in the spec',
      { metadata: { ...gone, annotations: { ...member.annotations, [SNAPSHOT_NAMES.beingDeleted]: 'yes' } } },
      ['removeFinalizer'],
    ],
  ])('a pre-provisioned snapshot %s', (_, change, steps) => {
    expect(stepsOf(SNAPSHOT, preProvisioned('c', change))).toEqual(steps)
  })

  it('the snapshotter leaves a snapshot to another content that names it, and then does not delete it', () => {
    const content = vsc('c', { metadata: gone, status: READY })
    expect(stepsOf(SNAPSHOT, content, { shared: ['snap-1'] })).toEqual([
      'keep snap-1',
      'clearStatus',
      'removeFinalizer',
    ])
    for (const shared of [[], ['snap-1']]) {
      expect(stepsOf(SNAPSHOT, content, { isKeptForOther: true, shared })).toEqual(['clearStatus', 'removeFinalizer'])
    }
    expect(stepsOf(SNAPSHOT, content, { shared: ['snap-2'] })).toEqual([
      'delete snap-1',
      'clearStatus',
      'removeFinalizer',
    ])
  })

  it('the snapshotter does not delete a pre-provisioned snapshot by its spec after it has deleted the snapshot', () => {
    const content = preProvisioned('c', { metadata: gone })
    expect(stepsOf(SNAPSHOT, content, { driverHasDeleted: true })).toEqual(['removeFinalizer'])
  })

  it('the snapshotter removes the annotation of an unbound content in deletion before it deletes the snapshot', () => {
    const metadata = deleted(SNAPSHOT_NAMES, 'beingCreated')
    expect(stepsOf(SNAPSHOT, preProvisioned('c', { metadata, spec: unbound, status: UNREADY }))).toEqual([
      'removeBeingCreated',
    ])
  })

  it('the snapshotter does nothing for a content whose class belongs to another driver', () => {
    expect(stepsOf(SNAPSHOT, vsc(), { classDriver: DRIVER })).toEqual(['create as create'])
    expect(stepsOf(SNAPSHOT, vsc(), { classDriver: 'other.example.com' })).toEqual([])
    const classDriver = 'other.example.com'
    expect(stepsOf(SNAPSHOT, vsc('c', { metadata: gone, status: READY }), { classDriver })).toEqual([])
  })
})

const GROUP_READY = { volumeGroupSnapshotHandle: 'group-1', readyToUse: true }
const groupGone = deleted(GROUP_NAMES, 'beingDeleted')

describe('group content', () => {
  it.each<[name: string, object: KubeObject, steps: readonly string[]]>([
    ['creates a group snapshot', vgsc(), ['create as create']],
    ['does nothing without volumes', vgsc('g', { spec: { source: { volumeHandles: [] } } }), []],
    [
      'repeats the call if the group is not ready',
      vgsc('g', { status: { ...GROUP_READY, readyToUse: false } }),
      ['create as check'],
    ],
    ['does nothing if the group is ready', vgsc('g', { status: GROUP_READY }), []],
    ['checks a pre-provisioned group', preProvisionedGroup(), ['check']],
    [
      'deletes with the handles of the status',
      vgsc('g', { metadata: groupGone, status: { ...GROUP_READY, volumeSnapshotInfoList: [{ snapshotHandle: 'a' }] } }),
      ['delete group-1 a', 'clearStatus', 'removeFinalizer'],
    ],
    [
      'deletes a pre-provisioned group with the handles of the spec',
      preProvisionedGroup('g', { metadata: groupGone, status: GROUP_READY }),
      ['delete group-1 s-1 s-2', 'clearStatus', 'removeFinalizer'],
    ],
    ['ignores the annotations of single contents', vgsc('g', { metadata: gone, status: GROUP_READY }), []],
  ])('for a group content, the snapshotter %s', (_, object, steps) => {
    expect(stepsOf(GROUP, object)).toEqual(steps)
  })
})

describe('isDeletionStep', () => {
  it.each<[ContentStep['kind'], boolean]>([
    ['create', false],
    ['check', false],
    ['awaitHandles', false],
    ['removeBeingCreated', false],
    ['delete', true],
    ['keepForOther', true],
    ['clearStatus', true],
    ['removeFinalizer', true],
  ])('the step %s is part of a deletion: %s', (kind, expected) => {
    expect(isDeletionStep({ kind } as ContentStep)).toBe(expected)
  })
})

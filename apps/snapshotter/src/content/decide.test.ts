import type { KubeObject } from '@csi-sidecars/kube-types'
import { describe, expect, it } from '@jest/globals'
import { GROUP_NAMES, MEMBER_ANNOTATION, SNAPSHOT_NAMES } from '../caches/names.ts'
import { DRIVER, given, givenGroup, vgsc, vsc } from '../testing/objects.ts'
import { decide } from './decide.ts'
import { GROUP, type Kind, SNAPSHOT } from './kinds.ts'

function stepsOf(kind: Kind, object: KubeObject, classDriver?: string): readonly string[] {
  const content = kind.project(DRIVER)(object)
  if (content === undefined) return ['not cached']
  const klass = { key: 'k', uid: '', resourceVersion: '', driver: classDriver ?? '', parameters: {} }
  const view = { content, kind, driverName: DRIVER, klass: classDriver === undefined ? undefined : klass }
  return decide(view).map((step) => {
    if (step.do === 'create') return `create as ${step.phase}`
    return step.do === 'delete' ? `delete ${[step.handle, ...step.members].join(' ')}` : step.do
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
const marked = { annotations: { [SNAPSHOT_NAMES.beingCreated]: 'yes' } }
const member = { annotations: { [MEMBER_ANNOTATION]: 'group-1' } }
const MEMBER_STATUS = { snapshotHandle: 'snap-m', volumeGroupSnapshotHandle: 'group-1' }
const gone = deleted(SNAPSHOT_NAMES, 'beingDeleted')
const unbound = { volumeSnapshotRef: { uid: null } }
const retained = { deletionPolicy: 'Retain' }

describe('decide for a single content', () => {
  it.each<[what: string, change: object, steps: readonly string[]]>([
    ['without a status creates', {}, ['create as create']],
    ['that failed creates again', { status: FAILED }, ['create as check']],
    ['with an empty status creates again', { status: {} }, ['create as check']],
    ['that is not ready creates again', { status: UNREADY }, ['create as check']],
    ['that is ready rests', { status: READY }, []],
    ['that is ready and marked removes the mark', { status: READY, metadata: marked }, ['unmark']],
    ['that is not ready and marked creates again', { status: UNREADY, metadata: marked }, ['create as check']],
    ['of another driver is not cached', { spec: { driver: 'other.example.com' } }, ['not cached']],
    ['without a source rests', { spec: { source: { volumeHandle: null } } }, []],
    ['that is a member waits', { metadata: member }, ['await']],
    ['that is a member with a handle alone waits', { metadata: member, status: UNREADY }, ['await']],
    ['that is a member with both handles checks', { metadata: member, status: MEMBER_STATUS }, ['check']],
    [
      'that is deleted without a mark of the controller continues',
      { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } },
      ['create as create'],
    ],
    [
      'that is deleted and ready without a mark of the controller rests',
      { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' }, status: READY },
      [],
    ],
    ['that is to be deleted deletes', { metadata: gone, status: READY }, ['delete snap-1', 'clear', 'release']],
    [
      'that is to be deleted without our finalizer deletes',
      { metadata: { ...gone, finalizers: null }, status: READY },
      ['delete snap-1', 'clear'],
    ],
    ['that is to be deleted and retained is released', { metadata: gone, status: READY, spec: retained }, ['release']],
    ['that is to be deleted and was never created is released', { metadata: gone }, ['release']],
    ['that is to be deleted and has failed is released', { metadata: gone, status: FAILED }, ['release']],
    ['that is to be deleted and cleared is released', { metadata: gone, status: CLEARED }, ['release']],
    [
      'that is to be deleted and a member is released',
      { metadata: gone, status: { ...READY, ...MEMBER_STATUS } },
      ['release'],
    ],
    [
      'whose creation is uncertain is not deleted',
      { metadata: deleted(SNAPSHOT_NAMES, 'beingDeleted', 'beingCreated') },
      ['create as create'],
    ],
    [
      'that is ready, marked and deleted loses the mark first',
      { metadata: deleted(SNAPSHOT_NAMES, 'beingDeleted', 'beingCreated'), status: READY },
      ['unmark'],
    ],
  ])('%s', (_, change, steps) => {
    expect(stepsOf(SNAPSHOT, vsc('c', change))).toEqual(steps)
  })

  it.each<[what: string, change: object, steps: readonly string[]]>([
    ['is checked', {}, ['check']],
    ['is checked while it is unbound', { spec: unbound }, ['check']],
    ['is checked again after a failure', { status: FAILED }, ['check']],
    ['rests when it is ready', { status: READY }, []],
    ['is not deleted while it is bound', { metadata: deleted(SNAPSHOT_NAMES) }, ['check']],
    [
      'is deleted while it is unbound',
      { metadata: deleted(SNAPSHOT_NAMES), spec: unbound, status: READY },
      ['delete snap-1', 'clear', 'release'],
    ],
    ['is deleted by its own handle before the first check', { metadata: gone }, ['delete snap-given', 'release']],
    [
      'is deleted by its own handle after a failed check',
      { metadata: gone, status: FAILED },
      ['delete snap-given', 'clear', 'release'],
    ],
    ['is not deleted twice', { metadata: gone, status: CLEARED }, ['release']],
    [
      'of a group is not deleted by its own handle',
      { metadata: { ...gone, annotations: { ...member.annotations, [SNAPSHOT_NAMES.beingDeleted]: 'yes' } } },
      ['release'],
    ],
  ])('given: %s', (_, change, steps) => {
    expect(stepsOf(SNAPSHOT, given('c', change))).toEqual(steps)
  })

  it('depends on the driver of the class if the class exists', () => {
    expect(stepsOf(SNAPSHOT, vsc(), DRIVER)).toEqual(['create as create'])
    expect(stepsOf(SNAPSHOT, vsc(), 'other.example.com')).toEqual([])
    expect(stepsOf(SNAPSHOT, vsc('c', { metadata: gone, status: READY }), 'other.example.com')).toEqual([])
  })
})

const GROUP_READY = { volumeGroupSnapshotHandle: 'group-1', readyToUse: true }
const groupGone = deleted(GROUP_NAMES, 'beingDeleted')

describe('decide for a group content', () => {
  it.each<[what: string, object: KubeObject, steps: readonly string[]]>([
    ['creates', vgsc(), ['create as create']],
    ['rests without volumes', vgsc('g', { spec: { source: { volumeHandles: [] } } }), []],
    ['creates again', vgsc('g', { status: { ...GROUP_READY, readyToUse: false } }), ['create as check']],
    ['rests when it is ready', vgsc('g', { status: GROUP_READY }), []],
    ['checks a given group', givenGroup(), ['check']],
    [
      'deletes with the handles of the status',
      vgsc('g', { metadata: groupGone, status: { ...GROUP_READY, volumeSnapshotInfoList: [{ snapshotHandle: 'a' }] } }),
      ['delete group-1 a', 'clear', 'release'],
    ],
    [
      'deletes a given group with the handles of the spec',
      givenGroup('g', { metadata: groupGone, status: GROUP_READY }),
      ['delete group-1 s-1 s-2', 'clear', 'release'],
    ],
    ['ignores the annotations of single contents', vgsc('g', { metadata: gone, status: GROUP_READY }), []],
  ])('%s', (_, object, steps) => {
    expect(stepsOf(GROUP, object)).toEqual(steps)
  })
})

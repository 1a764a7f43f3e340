import { PARAMETER_VALUES } from '@csi-sidecars/csi'
import type { KubeObject } from '@csi-sidecars/kube-types'
import { describe, expect, it } from '@jest/globals'
import type { Content } from '../caches/content.ts'
import { SNAPSHOT_NAMES } from '../caches/names.ts'
import { DRIVER, vgsc, vsc } from '../testing/objects.ts'
import { OutdatedRequestError } from './failure.ts'
import { type ContentKind, type DriverSnapshot, GROUP, SNAPSHOT } from './kinds.ts'
import {
  beingCreatedPatch,
  creationPatch,
  failureStatus,
  finalizerPatch,
  hasFinalizer,
  snapshotStatus,
  statusPatch,
} from './patches.ts'

function contentOf(object: KubeObject, kind: ContentKind = SNAPSHOT): Content {
  const content = kind.project(DRIVER)(object)
  if (content === undefined) throw new Error('the object is not cached')
  return content
}

const { beingCreated, finalizer } = SNAPSHOT_NAMES

describe('metadata patches', () => {
  const plain = contentOf(vsc('c'))
  const annotated = contentOf(vsc('c', { metadata: { annotations: { [beingCreated]: 'yes', other: 'stays' } } }))

  it('the patch of the annotation names the UID and only this annotation', () => {
    const body = (value: string | null) => ({ metadata: { uid: plain.uid, annotations: { [beingCreated]: value } } })
    expect(beingCreatedPatch(plain, SNAPSHOT_NAMES, true)).toEqual({ kind: 'merge', body: body('yes') })
    expect(beingCreatedPatch(annotated, SNAPSHOT_NAMES, false)).toEqual({ kind: 'merge', body: body(null) })
  })

  it('the annotation is not written if it is already as it must be', () => {
    expect(beingCreatedPatch(annotated, SNAPSHOT_NAMES, true)).toBeUndefined()
    expect(beingCreatedPatch(plain, SNAPSHOT_NAMES, false)).toBeUndefined()
  })

  it('the patch of the finalizer tests the UID and the place of our finalizer', () => {
    const content = contentOf(vsc('c', { metadata: { finalizers: ['other', finalizer] } }))
    const path = '/metadata/finalizers/1'
    expect(hasFinalizer(content, SNAPSHOT_NAMES)).toBe(true)
    expect(finalizerPatch(content, SNAPSHOT_NAMES)).toEqual({
      kind: 'json',
      body: [
        { op: 'test', path: '/metadata/uid', value: content.uid },
        { op: 'test', path, value: finalizer },
        { op: 'remove', path },
      ],
    })
  })

  it('a content without our finalizer needs no patch', () => {
    const content = contentOf(vsc('c', { metadata: { finalizers: ['other'] } }))
    expect([hasFinalizer(content, SNAPSHOT_NAMES), finalizerPatch(content, SNAPSHOT_NAMES)]).toEqual([false, undefined])
  })
})

describe('creationPatch', () => {
  type Change = Parameters<typeof creationPatch>[2]
  const stored = (annotations: Readonly<Record<string, string>>): Content =>
    contentOf(vsc('c', { metadata: { uid: 'u', resourceVersion: '5', annotations } }))
  const patched = (annotations: Readonly<Record<string, string>>) => ({
    kind: 'merge',
    body: { metadata: { uid: 'u', resourceVersion: '5', annotations } },
  })
  const first: Change = { record: 'new', replaced: undefined, isBeingCreated: true }
  const started = { [beingCreated]: 'yes' }
  const values = (record: string) => ({ [PARAMETER_VALUES]: record })

  it.each<[name: string, Content, Change, patch: object | undefined]>([
    ['adds the annotation and the values', stored({}), first, patched({ ...started, ...values('new') })],
    ['adds the missing values alone', stored(started), first, patched(values('new'))],
    ['adds the missing annotation alone', stored(values('new')), first, patched(started)],
    [
      'adds no annotation that the call does not need',
      stored({}),
      { ...first, isBeingCreated: false },
      patched(values('new')),
    ],
    [
      'replaces the values that the request was built from',
      stored({ ...started, ...values('old') }),
      { ...first, replaced: 'old' },
      patched(values('new')),
    ],
    ['is not needed if nothing changes', stored({ ...started, ...values('new') }), first, undefined],
  ])('the patch before a creation %s', (_, content, change, patch) => {
    expect(creationPatch(content, SNAPSHOT_NAMES, change)).toEqual(patch)
  })

  it.each<[name: string, Content, replaced: string | undefined]>([
    ['has stored values', stored(values('other')), undefined],
    ['has replaced the values', stored(values('other')), 'old'],
    ['has removed the values', stored({}), 'old'],
  ])('the creation is not called if another process %s since the request was built', (_, content, replaced) => {
    const build = () => creationPatch(content, SNAPSHOT_NAMES, { ...first, replaced })
    expect(build).toThrow(new OutdatedRequestError(`the annotation ${PARAMETER_VALUES} has changed`))
  })
})

describe('status patches', () => {
  const content = contentOf(vsc('c'))

  it('the patch of the status names the UID and the version', () => {
    const { uid, resourceVersion } = content
    const body = { metadata: { uid, resourceVersion }, status: { readyToUse: true } }
    expect(statusPatch(content, { readyToUse: true })).toEqual({ kind: 'merge', body })
  })

  it('nothing is written without a changed field', () => {
    expect(statusPatch(content, {})).toBeUndefined()
  })

  it('a failure is not ready and has a time, unless the status has its message', () => {
    const status = { readyToUse: false, error: { time: '2026-01-01T00:00:00Z', message: 'no' } }
    expect(failureStatus('no', Date.UTC(2026, 0, 1), content)).toEqual(status)
    expect(failureStatus('no', Date.UTC(2026, 0, 2), contentOf(vsc('c', { status })))).toEqual({})
  })
})

describe('status of a snapshot', () => {
  const time = { seconds: 1n, nanos: 5 }
  const answer: DriverSnapshot = { handle: 'snap-2', readyToUse: true, creationTime: time, sizeBytes: 7n }
  const fieldsOf = (status: object | undefined, change: Partial<DriverSnapshot> = {}): unknown => {
    const object = vsc('c', status === undefined ? {} : { status })
    return JSON.parse(JSON.stringify(snapshotStatus(SNAPSHOT, { ...answer, ...change }, contentOf(object))))
  }

  it.each<[name: string, status: object | undefined, change: Partial<DriverSnapshot>, fields: object]>([
    [
      'has all fields if the content has no status',
      undefined,
      {},
      { snapshotHandle: 'snap-2', readyToUse: true, creationTime: 1_000_000_005, restoreSize: 7 },
    ],
    [
      'keeps the stored handle, time and size',
      { snapshotHandle: 'snap-1', creationTime: 3, restoreSize: 4, readyToUse: false },
      {},
      { readyToUse: true },
    ],
    [
      'removes the error when the snapshot becomes ready',
      { snapshotHandle: 'snap-1', creationTime: 3, restoreSize: 4, readyToUse: false, error: { message: 'no' } },
      {},
      { readyToUse: true, error: null },
    ],
    [
      'keeps the error while the snapshot is not ready',
      { snapshotHandle: 'snap-1', creationTime: 3, restoreSize: 4, readyToUse: false, error: { message: 'no' } },
      { readyToUse: false },
      {},
    ],
    [
      'has the handle of a group that the driver lists',
      { snapshotHandle: 'snap-1', creationTime: 3, restoreSize: 4, readyToUse: true },
      { groupSnapshotId: 'group-1' },
      { volumeGroupSnapshotHandle: 'group-1' },
    ],
    [
      'has the time 1970 and no size if the driver returns neither',
      undefined,
      { creationTime: undefined, sizeBytes: 0n },
      { snapshotHandle: 'snap-2', readyToUse: true, creationTime: 0 },
    ],
  ])('%s', (_, status, change, fields) => {
    expect(fieldsOf(status, change)).toEqual(fields)
  })

  it('the status of a group has its handle and its time with seconds', () => {
    const snapshot = { handle: 'group-1', readyToUse: true, creationTime: time }
    expect(snapshotStatus(GROUP, snapshot, contentOf(vgsc('g'), GROUP))).toEqual({
      volumeGroupSnapshotHandle: 'group-1',
      readyToUse: true,
      creationTime: '1970-01-01T00:00:01Z',
    })
  })
})

import type { VolumeSnapshotContent } from '@csi-sidecars/kube-types'
import { describe, expect, it } from '@jest/globals'
import { MEMBER_ANNOTATION, SNAPSHOT_NAMES } from '../caches/names.ts'
import { DRIVER, vsc } from '../testing/objects.ts'
import { SNAPSHOT } from './kinds.ts'
import { contentTrigger } from './triggers.ts'

const trigger = contentTrigger(() => false)

function contentOf(object: VolumeSnapshotContent) {
  const content = SNAPSHOT.project(DRIVER)(object)
  if (content === undefined) throw new Error('the content is not cached')
  return content
}

const updated = (before: object, after: object, origin: 'change' | 'resync' = 'change') =>
  trigger({ type: 'updated', before: contentOf(vsc('c', before)), after: contentOf(vsc('c', after)), origin })

const annotated = (key: string): object => ({ metadata: { annotations: { [key]: 'yes' } } })
const READY = { status: { snapshotHandle: 'snap-1', readyToUse: true } }
const MEMBER = annotated(MEMBER_ANNOTATION)
const HANDLES = { ...MEMBER, status: { snapshotHandle: 'snap-m', volumeGroupSnapshotHandle: 'group-1' } }

describe('contentTrigger', () => {
  it.each<[name: string, before: object, after: object]>([
    ['a change of the spec', { metadata: { generation: 1 } }, { metadata: { generation: 2 } }],
    ['a label', {}, { metadata: { labels: { a: 'b' } } }],
    ['an annotation', {}, annotated('a')],
    ['an owner', {}, { metadata: { ownerReferences: [{ name: 'o' }] } }],
    ['the deletion', {}, { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }],
    ['the handles of the member of a group', MEMBER, HANDLES],
  ])('a content is enqueued after %s', (_, before, after) => {
    expect(updated(before, after)).toEqual(['c'])
  })

  it.each<[name: string, before: object, after: object]>([
    ['an error in its status', {}, { status: { readyToUse: false, error: { message: 'no' } } }],
    ['its finalizers', {}, { metadata: { finalizers: null } }],
    ['our annotation', {}, annotated(SNAPSHOT_NAMES.beingCreated)],
    ['its status, which becomes ready,', {}, READY],
  ])('a content is not enqueued after a change of %s alone', (_, before, after) => {
    expect(updated(before, after)).toEqual([])
  })

  it('a resync enqueues each content with pending work', () => {
    expect(updated({}, {}, 'resync')).toEqual(['c'])
    const resting = contentTrigger(() => true)
    expect(resting({ type: 'added', object: contentOf(vsc()) })).toEqual([])
  })
})

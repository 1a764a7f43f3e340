import { FakeClock } from '@csi-sidecars/base/testing'
import { recordingQueue, ScriptedInformer } from '@csi-sidecars/controller/testing'
import type { InformerEvent } from '@csi-sidecars/informer'
import type { VolumeSnapshotContent } from '@csi-sidecars/kube-types'
import { describe, expect, it } from '@jest/globals'
import type { Content } from '../caches/content.ts'
import { MEMBER_ANNOTATION, SNAPSHOT_NAMES } from '../caches/names.ts'
import { DRIVER, vsc } from '../testing/objects.ts'
import { SNAPSHOT } from './kinds.ts'
import { ContentMemory } from './memory.ts'
import { contentTrigger, recordLostContents, wakesOnHandles } from './triggers.ts'

const trigger = contentTrigger(() => false)

function contentOf(object: VolumeSnapshotContent) {
  const content = SNAPSHOT.project(DRIVER)(object)
  if (content === undefined) throw new Error('the content is not cached')
  return content
}

const update = (
  before: object,
  after: object,
  origin: 'change' | 'resync' = 'change',
): InformerEvent<Content> & { readonly type: 'updated' } => ({
  ...{ type: 'updated', origin },
  ...{ before: contentOf(vsc('c', before)), after: contentOf(vsc('c', after)) },
})
const updated = (...states: Parameters<typeof update>) => trigger(update(...states))

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

  it('a new content is enqueued, and a deleted content is not', () => {
    expect(trigger({ type: 'added', object: contentOf(vsc()) })).toEqual(['c'])
    expect(trigger({ type: 'deleted', object: contentOf(vsc()) })).toEqual([])
  })
})

describe('wakesOnHandles', () => {
  const WOKEN = [{ kind: 'handles', name: 'c' }]
  const HANDLE_ALONE = { ...MEMBER, status: { snapshotHandle: 'snap-m' } }
  const GROUP_ALONE = { ...MEMBER, status: { volumeGroupSnapshotHandle: 'group-1' } }

  it.each<[name: string, before: object, after: object, woken: readonly object[]]>([
    ['once both handles are written', MEMBER, HANDLES, WOKEN],
    ['once the second handle is written', HANDLE_ALONE, HANDLES, WOKEN],
    ['not before the handle of the group is written', MEMBER, HANDLE_ALONE, []],
    ['not before its own handle is written', MEMBER, GROUP_ALONE, []],
    ['not again after a later change', HANDLES, { ...HANDLES, metadata: { labels: { a: 'b' } } }, []],
  ])('the member of a group wakes %s', (_, before, after, woken) => {
    expect(wakesOnHandles(update(before, after))).toEqual(woken)
  })

  it('a content that appears or disappears wakes nothing', () => {
    expect(wakesOnHandles({ type: 'added', object: contentOf(vsc('c', HANDLES)) })).toEqual([])
    expect(wakesOnHandles({ type: 'deleted', object: contentOf(vsc('c', HANDLES)) })).toEqual([])
  })
})

describe('recordLostContents', () => {
  const informer = new ScriptedInformer<Content>()
  const plain = contentOf(vsc('c', { metadata: { uid: 'u' } }))
  const retained = contentOf(vsc('c', { metadata: { uid: 'u' }, spec: { deletionPolicy: 'Retain' } }))
  const request = {} as Parameters<ContentMemory['beginCreation']>[1]

  function watched(hasSnapshotToDelete: (content: Content) => boolean) {
    const memory = new ContentMemory(new FakeClock())
    const requests: string[] = []
    const end = recordLostContents(informer, memory, hasSnapshotToDelete)(recordingQueue(requests))
    return { memory, requests, end }
  }

  it('each state of a content is remembered for its creation', () => {
    const { memory, requests, end } = watched(() => true)
    const creation = memory.beginCreation(plain, request)
    informer.emit({ type: 'added', object: plain })
    expect(creation.wasRetained).toBe(false)
    informer.emit({ type: 'updated', before: plain, after: retained, origin: 'change' })
    expect([creation.wasRetained, requests]).toEqual([true, []])
    end()
  })

  it('a lost content is enqueued if its last state, or else its cached state, has a snapshot to delete', () => {
    const { memory, requests, end } = watched((content) => content === plain)
    informer.emit({ type: 'deleted', object: retained, last: plain })
    expect(requests.splice(0)).toEqual(['add c'])
    memory.forgetLost('c', () => true)
    informer.emit({ type: 'deleted', object: plain })
    expect(requests.splice(0)).toEqual(['add c'])
    memory.forgetLost('c', () => true)
    informer.emit({ type: 'deleted', object: plain, last: retained })
    expect(requests).toEqual([])
    end()
  })
})

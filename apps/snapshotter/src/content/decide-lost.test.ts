import { describe, expect, it } from '@jest/globals'
import { MEMBER_ANNOTATION, SNAPSHOT_NAMES } from '../caches/names.ts'
import { DRIVER, vsc } from '../testing/objects.ts'
import { permittedSnapshot } from './calls.ts'
import { decideLost } from './decide-lost.ts'
import { SNAPSHOT } from './kinds.ts'
import type { LostContent, SnapshotCreation } from './memory.ts'

const BEING_CREATED = { metadata: { annotations: { [SNAPSHOT_NAMES.beingCreated]: 'yes' } } }
const ANSWER = { handle: 'snap-1', readyToUse: true, creationTime: undefined }
const CREATION: SnapshotCreation = {
  request: { name: 'snapshot-1', parameters: {}, secrets: {} },
  answer: ANSWER,
  wasRetained: false,
}

function lostContent(change: object = {}, facts: Partial<LostContent> = {}): LostContent {
  const content = SNAPSHOT.project(DRIVER)(vsc('c', { ...BEING_CREATED, ...change }))
  if (content === undefined) throw new Error('the content is not cached')
  return { content, isLastStoredState: true, creation: CREATION, ...facts }
}

const deleted = { metadata: { ...BEING_CREATED.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }
const member = { metadata: { annotations: { ...BEING_CREATED.metadata.annotations, [MEMBER_ANNOTATION]: 'group-1' } } }

describe('decideLost', () => {
  it('the snapshot of an uncertain creation may be deleted if the last state of the content permits it', () => {
    expect(decideLost(lostContent())).toEqual({ kind: 'delete', creation: CREATION })
    expect(permittedSnapshot({ kind: 'lost', lost: lostContent() })).toEqual({ handle: 'snap-1', members: [] })
  })

  it.each<[name: string, lost: LostContent, reason: string]>([
    ['the policy is Retain', lostContent({ spec: { deletionPolicy: 'Retain' } }), 'its deletion policy was not Delete'],
    [
      'the policy was Retain during the creation',
      lostContent({}, { creation: { ...CREATION, wasRetained: true } }),
      'its deletion policy was not Delete',
    ],
    ['the content was being deleted', lostContent(deleted), 'its finalizers were removed during its deletion'],
    ['the status has a handle', lostContent({ status: { snapshotHandle: 's' } }), 'its finalizers were removed'],
    ['this process has created nothing', lostContent({}, { creation: undefined }), 'its finalizers were removed'],
    ['the last state is unknown', lostContent({}, { isLastStoredState: false }), 'its last state is unknown'],
    ['the annotation was removed', lostContent({ metadata: {} }), 'its annotations were changed'],
    [
      'the status names a group',
      lostContent({ ...BEING_CREATED, status: { volumeGroupSnapshotHandle: 'group-1' } }),
      'its annotations were changed',
    ],
    ['the content has become a member of a group', lostContent(member), 'its annotations were changed'],
  ])('the snapshot stays if %s', (_, lost, reason) => {
    expect(decideLost(lost)).toEqual({ kind: 'keep', reason })
    expect(() => permittedSnapshot({ kind: 'lost', lost })).toThrow('no permit')
  })

  it('the snapshot of a creation without an answer has no handle to delete', () => {
    const lost = lostContent({}, { creation: { ...CREATION, answer: undefined } })
    expect(() => permittedSnapshot({ kind: 'lost', lost })).toThrow('no permit')
  })
})

describe('permittedSnapshot', () => {
  const status = { snapshotHandle: 'snap-1', readyToUse: true }
  const metadata = { ...deleted.metadata, annotations: { [SNAPSHOT_NAMES.beingDeleted]: 'yes' } }
  const read = { metadata, status }
  const permitOf = (change: object, handle = 'snap-1') => {
    const content = SNAPSHOT.project(DRIVER)(vsc('c', { ...read, ...change }))
    if (content === undefined) throw new Error('the content is not cached')
    return { kind: 'content', content, step: { handle, members: [] } } as const
  }

  it('a content that is to be deleted permits the deletion of its snapshot', () => {
    expect(permittedSnapshot(permitOf({}))).toEqual({ handle: 'snap-1', members: [] })
  })

  it.each<[name: string, permit: ReturnType<typeof permitOf>]>([
    ['that is not being deleted', permitOf({ metadata: {} })],
    ['with the policy Retain', permitOf({ spec: { deletionPolicy: 'Retain' } })],
    ['that is being created', permitOf({ metadata: { ...metadata, ...BEING_CREATED.metadata } })],
    ['with another handle', permitOf({}, 'snap-2')],
    ['of a group member', permitOf({ status: { ...status, volumeGroupSnapshotHandle: 'group-1' } })],
  ])('a content %s permits no deletion', (_, permit) => {
    expect(() => permittedSnapshot(permit)).toThrow('c does not permit to delete')
  })
})

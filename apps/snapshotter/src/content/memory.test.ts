import { FakeClock } from '@csi-sidecars/base/testing'
import { beforeEach, describe, expect, it } from '@jest/globals'
import type { Content } from '../caches/content.ts'
import { DRIVER, preProvisioned, UID, vsc } from '../testing/objects.ts'
import { type CreateRequest, type DriverSnapshot, SNAPSHOT } from './kinds.ts'
import { ContentMemory, type LostContent, lostHandleOf } from './memory.ts'

const HOUR_MS = 3_600_000
const REQUEST = { name: 'snapshot-1' } as unknown as CreateRequest
const ANSWER: DriverSnapshot = { handle: 'snap-1', readyToUse: false, creationTime: undefined, sizeBytes: 0n }
const RETAINED = { spec: { deletionPolicy: 'Retain' } }
const HANDLE = { status: { snapshotHandle: 'snap-1' } }

/** Returns the content `c`. Without another UID, all contents are states of the same object. */
function contentOf(change: object = {}, uid = 'uid-1', object = vsc('c', change)): Content {
  const content = SNAPSHOT.project(DRIVER)({ ...object, metadata: { ...object.metadata, uid } })
  if (content === undefined) throw new Error('the content is not cached')
  return content
}

let clock: FakeClock
let memory: ContentMemory
beforeEach(() => {
  clock = new FakeClock()
  memory = new ContentMemory(clock)
})

describe('the memory of creations', () => {
  it('a repeated creation keeps the request of the first call', () => {
    const creation = memory.beginCreation(contentOf(), REQUEST)
    expect(creation).toEqual({ request: REQUEST, answer: undefined, wasRetained: false })
    expect(memory.beginCreation(contentOf(), { ...REQUEST })).toBe(creation)
    expect([memory.creationOf('uid-1'), memory.creationOf('uid-2')]).toEqual([creation, undefined])
  })

  it.each<[string, Content, boolean]>([
    ['begins with the policy Delete', contentOf(), false],
    ['begins with the policy Retain', contentOf(RETAINED), true],
  ])('a creation that %s remembers whether the user has retained its snapshot', (_, content, wasRetained) => {
    expect(memory.beginCreation(content, REQUEST).wasRetained).toBe(wasRetained)
  })

  it('a policy other than Delete is remembered for the creation even if the policy becomes Delete again', () => {
    const creation = memory.beginCreation(contentOf(), REQUEST)
    memory.recordState(contentOf(RETAINED, 'uid-2'))
    expect(creation.wasRetained).toBe(false)
    memory.recordState(contentOf(RETAINED))
    memory.recordState(contentOf())
    expect(creation.wasRetained).toBe(true)
  })

  it('a stored answer is forgotten, and the creation remains until the snapshot is ready', () => {
    const creation = memory.beginCreation(contentOf(), REQUEST)
    creation.answer = ANSWER
    memory.recordStoredAnswer(contentOf(), false)
    expect([memory.creationOf('uid-1'), creation.answer]).toEqual([creation, undefined])
    memory.recordStoredAnswer(contentOf(), true)
    expect(memory.creationOf('uid-1')).toBeUndefined()
  })

  it('a stored answer of an earlier process changes nothing', () => {
    memory.recordStoredAnswer(contentOf(), true)
    expect(memory.creationOf('uid-1')).toBeUndefined()
  })

  it('the end of a creation also forgets its lost content, and no other content of the name', () => {
    for (const uid of ['uid-1', 'uid-2']) {
      memory.beginCreation(contentOf({}, uid), REQUEST)
      memory.recordLostContent(contentOf({}, uid), undefined, false)
    }
    memory.endCreation(contentOf())
    expect(memory.lostOf('c').map(({ content }) => content.uid)).toEqual(['uid-2'])
  })
})

describe('the memory of uncertain deletions', () => {
  const other = { ...contentOf(), refUid: 'ref-2' }

  it('the end of an uncertain deletion is known for its VolumeSnapshot until the outcome is known', () => {
    memory.recordUncertainDeletion(contentOf(), Number.POSITIVE_INFINITY)
    expect(memory.uncertainDeletionEnd(UID)).toBe(Number.POSITIVE_INFINITY)
    memory.recordUncertainDeletion(contentOf(), 5)
    expect([memory.uncertainDeletionEnd(UID), memory.uncertainDeletionEnd('ref-2')]).toEqual([5, undefined])
    memory.endUncertainDeletion(contentOf())
    expect(memory.uncertainDeletionEnd(UID)).toBeUndefined()
  })

  it.each<[string, number, number, number | undefined]>([
    ['is forgotten after more than an hour', 1, HOUR_MS + 2, undefined],
    ['is known for an hour', 1, HOUR_MS + 1, 1],
    ['is known when another call begins', 1, Number.POSITIVE_INFINITY, 1],
    ['is known while it runs, however long', Number.POSITIVE_INFINITY, 2 * HOUR_MS, Number.POSITIVE_INFINITY],
  ])('an uncertain deletion %s', (_, endMs, otherEndMs, expected) => {
    memory.recordUncertainDeletion(contentOf(), endMs)
    memory.recordUncertainDeletion(other, otherEndMs)
    expect(memory.uncertainDeletionEnd(UID)).toBe(expected)
  })
})

describe('the memory of deletions', () => {
  it('the driver has deleted the snapshot of one content, and another content keeps the snapshot of another one', () => {
    memory.recordSnapshotDeletion(contentOf({}, 'uid-1'))
    memory.recordKeptForOther(contentOf({}, 'uid-2'))
    const uids = ['uid-1', 'uid-2', 'uid-3']
    expect(uids.map((uid) => memory.driverHasDeleted(uid))).toEqual([true, false, false])
    expect(uids.map((uid) => memory.isKeptForOther(uid))).toEqual([false, true, false])
  })

  it('the same event about a failed deletion is recorded once in 15 minutes', async () => {
    const record = (uid: string) => memory.shouldRecordDeletion(uid, 'busy')
    expect([record('uid-1'), record('uid-1'), record('uid-2')]).toEqual([true, false, true])
    await clock.advance(15 * 60_000)
    expect(record('uid-1')).toBe(true)
  })
})

describe('the memory of lost contents', () => {
  it('a lost content whose snapshot is being created must be handled with its creation', () => {
    const creation = memory.beginCreation(contentOf(), REQUEST)
    const last = contentOf({ metadata: { labels: { a: 'b' } } })
    expect(memory.recordLostContent(contentOf(), last, false)).toBe(true)
    expect(memory.lostOf('c')).toEqual([{ content: last, isLastStoredState: true, creation }])
    expect([...memory.allLost()]).toEqual(memory.lostOf('c'))
    expect(memory.creationOf('uid-1')).toBeUndefined()
  })

  it('the policy in the last state of a lost content counts for its creation', () => {
    const creation = memory.beginCreation(contentOf(), REQUEST)
    memory.recordLostContent(contentOf(), contentOf(RETAINED), false)
    expect(creation.wasRetained).toBe(true)
  })

  it('a lost content without a known last state must be handled with the cached state', () => {
    const content = contentOf()
    expect(memory.recordLostContent(content, undefined, true)).toBe(true)
    expect(memory.lostOf('c')).toEqual([{ content, isLastStoredState: false, creation: undefined }])
  })

  it('a lost content whose status has the handle is handled without a creation: the user knows its snapshot', () => {
    memory.beginCreation(contentOf(), REQUEST)
    expect(memory.recordLostContent(contentOf(HANDLE), undefined, true)).toBe(true)
    expect(memory.lostOf('c').map(({ creation }) => creation)).toEqual([undefined])
  })

  it.each<[string, () => void, boolean]>([
    ['has no snapshot', () => {}, false],
    ['has a snapshot that the driver has deleted', () => memory.recordSnapshotDeletion(contentOf()), true],
    ['has a snapshot that another content keeps', () => memory.recordKeptForOther(contentOf()), true],
  ])('a lost content that %s needs no work', (_, before, hasSnapshot) => {
    before()
    expect(memory.recordLostContent(contentOf(), contentOf(), hasSnapshot)).toBe(false)
    expect(memory.lostOf('c')).toEqual([])
    expect([memory.driverHasDeleted('uid-1'), memory.isKeptForOther('uid-1')]).toEqual([false, false])
  })

  it('a lost content without work starts a run if an older content of the name is not handled yet', () => {
    memory.recordLostContent(contentOf(), undefined, true)
    expect(memory.recordLostContent(contentOf({}, 'uid-2'), undefined, false)).toBe(true)
  })

  it('contents of one name that are lost one after another are all remembered, until each is handled', () => {
    memory.recordLostContent(contentOf(), undefined, true)
    memory.recordLostContent(contentOf({}, 'uid-2'), undefined, true)
    expect(memory.lostOf('c').map(({ content }) => content.uid)).toEqual(['uid-1', 'uid-2'])
    memory.forgetLost('c', ({ content }) => content.uid === 'uid-1')
    expect([...memory.allLost()].map(({ content }) => content.uid)).toEqual(['uid-2'])
    memory.forgetLost('c', () => true)
    expect([...memory.allLost()]).toEqual([])
  })
})

describe('lostHandleOf', () => {
  const creation = { request: REQUEST, answer: { ...ANSWER, handle: 'snap-2' }, wasRetained: false }
  const preProvisionedContent = contentOf({}, 'uid-1', preProvisioned('c'))

  it.each<[string, Partial<LostContent> & Pick<LostContent, 'content'>, string | undefined]>([
    ['is in the answer of the driver', { content: contentOf(HANDLE), creation }, 'snap-2'],
    ['is in the status', { content: contentOf(HANDLE) }, 'snap-1'],
    ['is in the spec', { content: preProvisionedContent }, 'snap-given'],
    ['only the driver knows', { content: contentOf(), creation: { ...creation, answer: undefined } }, undefined],
  ])('the handle of a lost snapshot is the handle that %s', (_, lost, handle) => {
    expect(lostHandleOf({ isLastStoredState: true, creation: undefined, ...lost })).toBe(handle)
  })
})

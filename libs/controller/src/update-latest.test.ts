import { ApiError, isOutcomeUnknown } from '@csi-sidecars/kube-client'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { type LatestUpdate, mayBeTooLate, updateLatest } from './update-latest.ts'

interface Thing {
  readonly uid: string
  readonly version: number
  readonly marked: boolean
}

const CONFLICT = new ApiError({ code: 409, reason: 'Conflict', message: 'changed' })
const FAILED_TEST = new ApiError({
  code: 422,
  reason: 'Invalid',
  message: 'the server rejected our request due to an error in our request',
})
const REFUSED = new ApiError({ code: 422, reason: 'Invalid', message: 'webhook: no' })
const LOST = new ApiError({ code: 0, reason: '', message: 'no answer', outcomeUnknown: true })
const MISSING = new ApiError({ code: 404, reason: 'NotFound', message: 'gone' })

let stored: Thing | undefined
let cached: Thing | undefined
let sent: string[]
let reads: number
let failures: ApiError[]

beforeEach(() => {
  stored = { uid: 'u', version: 1, marked: false }
  cached = stored
  sent = []
  reads = 0
  failures = []
})

const update = (change: Partial<LatestUpdate<Thing, string, string>> = {}): LatestUpdate<Thing, string, string> => ({
  tries: 3,
  latest: () => (cached?.uid === 'u' ? cached : undefined),
  build: ({ version, marked }) => (marked ? undefined : `mark version ${version}`),
  send: async (write) => {
    sent.push(write)
    const failure = failures.shift()
    if (failure !== undefined) throw failure
    return `saved by ${write}`
  },
  refresh: async () => {
    reads += 1
    cached = stored
  },
  ...change,
})

describe('updateLatest', () => {
  it('a change is built from the newest known state, and no object is read without a conflict', async () => {
    expect(await updateLatest(update())).toEqual({ kind: 'written', saved: 'saved by mark version 1' })
    expect([sent, reads]).toEqual([['mark version 1'], 0])
  })

  it.each([
    ['a conflict', CONFLICT],
    ['a failed test of a patch', FAILED_TEST],
  ])('after %s the object is read and the change is built again', async (_, failure) => {
    failures = [failure]
    stored = { uid: 'u', version: 2, marked: false }
    expect(await updateLatest(update())).toMatchObject({ kind: 'written' })
    expect([sent, reads]).toEqual([['mark version 1', 'mark version 2'], 1])
  })

  it('nothing is written if the newest state needs no change', async () => {
    failures = [CONFLICT]
    stored = { uid: 'u', version: 2, marked: true }
    expect(await updateLatest(update())).toEqual({ kind: 'unchanged', state: stored })
    expect(sent).toHaveLength(1)
  })

  it.each([
    ['deleted', undefined],
    ['recreated', { uid: 'v', version: 9, marked: false }],
  ])('an object that is %s in mid-loop is not written again', async (_, after) => {
    failures = [CONFLICT]
    stored = after
    expect(await updateLatest(update())).toEqual({ kind: 'gone' })
    expect(sent).toHaveLength(1)
  })

  it('the loop ends with the last error if every write conflicts', async () => {
    failures = [CONFLICT, CONFLICT, CONFLICT, CONFLICT]
    await expect(updateLatest(update())).rejects.toBe(CONFLICT)
    expect([sent.length, reads]).toEqual([3, 2])
  })

  it('the same write is sent again after a conflict, because its version is not part of every write', async () => {
    failures = [CONFLICT]
    expect(await updateLatest(update())).toMatchObject({ kind: 'written' })
    expect(sent).toHaveLength(2)
  })

  it('a failed test that leads to the same write again is thrown, because no other client is the reason', async () => {
    failures = [FAILED_TEST]
    await expect(updateLatest(update())).rejects.toBe(FAILED_TEST)
    expect([sent.length, reads]).toEqual([1, 1])
  })

  it('without `refresh`, `latest` is called before each write', async () => {
    failures = [CONFLICT]
    const { refresh: _, ...rest } = update({
      latest: async () => {
        reads += 1
        return { uid: 'u', version: reads, marked: false }
      },
    })
    expect(await updateLatest(rest)).toMatchObject({ kind: 'written' })
    expect(sent).toEqual(['mark version 1', 'mark version 2'])
  })

  it('a write that is built asynchronously is sent, or skipped if nothing is left to change', async () => {
    expect(await updateLatest(update({ build: async () => 'mark' }))).toMatchObject({ kind: 'written' })
    expect(await updateLatest(update({ build: async () => undefined }))).toMatchObject({ kind: 'unchanged' })
    expect(sent).toEqual(['mark'])
  })

  it('after a lost answer the same write is sent again if `mayBeOutdated` permits it', async () => {
    failures = [LOST]
    expect(await updateLatest(update({ mayBeOutdated: isOutcomeUnknown }))).toMatchObject({ kind: 'written' })
    expect([sent, reads]).toEqual([['mark version 1', 'mark version 1'], 1])
  })

  it('after a lost answer nothing is sent again if the write has taken effect', async () => {
    failures = [LOST]
    stored = { uid: 'u', version: 2, marked: true }
    expect(await updateLatest(update({ mayBeOutdated: isOutcomeUnknown }))).toEqual({
      kind: 'unchanged',
      state: stored,
    })
    expect(sent).toHaveLength(1)
  })

  it.each([
    ['a refusal by a webhook', REFUSED],
    ['a lost answer', LOST],
    ['a missing object', MISSING],
  ])('%s is thrown at once', async (_, failure) => {
    failures = [failure]
    await expect(updateLatest(update())).rejects.toBe(failure)
    expect([sent.length, reads]).toEqual([1, 0])
  })

  it('a new finalizer that the API server refuses for a deleted object is not written again', async () => {
    failures = [new ApiError({ code: 422, reason: 'Invalid', message: 'no new finalizers can be added' })]
    stored = { uid: 'u', version: 2, marked: true }
    expect(await updateLatest(update({ mayBeOutdated: mayBeTooLate }))).toMatchObject({ kind: 'unchanged' })
    expect(sent).toHaveLength(1)
  })

  it('an error of the read is thrown', async () => {
    failures = [CONFLICT]
    const error = new Error('no answer')
    await expect(updateLatest(update({ refresh: () => Promise.reject(error) }))).rejects.toBe(error)
  })
})

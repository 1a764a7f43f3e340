import { ApiError, isOutcomeUnknown } from '@csi-sidecars/kube-client'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { addFinalizer, type FinalizerAddition, type FinalizerRemoval, removeFinalizer } from './finalizers.ts'

interface Thing {
  readonly uid: string
  readonly version: number
  readonly finalizers: readonly string[]
  readonly deleting?: boolean
}

const OURS = 'example.com/ours'
const THEIRS = 'example.com/theirs'
const CONFLICT = new ApiError({ code: 409, reason: 'Conflict', message: 'changed' })
const LOST = new ApiError({ code: 0, reason: '', message: 'no answer', outcomeUnknown: true })
const NO_NEW_FINALIZERS = new ApiError({ code: 422, reason: 'Invalid', message: 'no new finalizers can be added' })
const MISSING = new ApiError({ code: 404, reason: 'NotFound', message: 'gone' })

/** The object in the API server. A write with another version conflicts, as a PUT does. */
let stored: Thing | undefined
let cached: Thing | undefined
let sent: (readonly string[])[]
/** Called before the API server handles each write. */
let beforeWrite: () => void
/** Called after the API server has handled a write, before its answer arrives. */
let afterWrite: () => void

beforeEach(() => {
  sent = []
  beforeWrite = () => undefined
  afterWrite = () => undefined
})

function store(thing: Thing | undefined): void {
  stored = thing
}

function exists(thing: Partial<Thing> = {}): void {
  stored = { uid: 'u', version: 1, finalizers: [THEIRS], ...thing }
  cached = stored
}

const object = {
  tries: 3,
  latest: () => (cached?.uid === 'u' ? cached : undefined),
  refresh: async () => {
    cached = stored
  },
  hasFinalizer: ({ finalizers }: Thing) => finalizers.includes(OURS),
  async send(write: Thing): Promise<Thing> {
    sent.push(write.finalizers)
    beforeWrite()
    if (stored === undefined) throw MISSING
    if (stored.version !== write.version || stored.uid !== write.uid) throw CONFLICT
    if (stored.deleting && write.finalizers.length > stored.finalizers.length) throw NO_NEW_FINALIZERS
    stored = { ...write, version: write.version + 1 }
    const saved = stored
    afterWrite()
    return saved
  },
}

const addition = (change: Partial<FinalizerAddition<Thing, Thing, Thing>> = {}) => ({
  ...object,
  isDeleting: ({ deleting }: Thing) => deleting === true,
  add: (thing: Thing) =>
    thing.finalizers.includes(OURS) ? undefined : { ...thing, finalizers: [...thing.finalizers, OURS] },
  ...change,
})

const removal = (change: Partial<FinalizerRemoval<Thing, Thing, Thing>> = {}) => ({
  ...object,
  remove: (thing: Thing) => ({ ...thing, finalizers: thing.finalizers.filter((each) => each !== OURS) }),
  ...change,
})

describe('addFinalizer', () => {
  it('adds the finalizer and keeps the finalizers of other clients', async () => {
    exists()
    expect(await addFinalizer(addition())).toMatchObject({ kind: 'added', saved: { finalizers: [THEIRS, OURS] } })
  })

  it('writes nothing if the object has the finalizer', async () => {
    exists({ finalizers: [OURS] })
    expect(await addFinalizer(addition())).toEqual({ kind: 'present' })
    expect(sent).toEqual([])
  })

  it.each([
    [true, [OURS]],
    [false, [THEIRS]],
  ])('writes nothing to an object that is being deleted, and reports %p for its finalizer', async (has, finalizers) => {
    exists({ deleting: true, finalizers })
    expect(await addFinalizer(addition())).toEqual({ kind: 'deleting', hasFinalizer: has })
    expect(sent).toEqual([])
  })

  it('writes other fields to an object that is being deleted if it has the finalizer', async () => {
    exists({ deleting: true, finalizers: [OURS] })
    const add = (thing: Thing) => ({ ...thing, finalizers: [OURS] })
    expect(await addFinalizer(addition({ add }))).toMatchObject({ kind: 'added' })
  })

  it('adds the finalizer to the newest list after a conflict', async () => {
    exists()
    store({ uid: 'u', version: 2, finalizers: ['example.com/new'] })
    expect(await addFinalizer(addition())).toMatchObject({ kind: 'added' })
    expect(sent).toEqual([
      [THEIRS, OURS],
      ['example.com/new', OURS],
    ])
  })

  it('reports an object whose deletion begins during the write', async () => {
    exists()
    beforeWrite = () => store({ uid: 'u', version: 1, finalizers: [THEIRS], deleting: true })
    expect(await addFinalizer(addition())).toEqual({ kind: 'deleting', hasFinalizer: false })
    expect(sent).toHaveLength(1)
  })

  it('does not add the finalizer to an object that is recreated during the write', async () => {
    exists()
    beforeWrite = () => store({ uid: 'v', version: 1, finalizers: [] })
    expect(await addFinalizer(addition())).toEqual({ kind: 'gone' })
    expect([sent.length, stored?.finalizers]).toEqual([1, []])
  })

  it('throws if the object is deleted during the write', async () => {
    exists()
    beforeWrite = () => store(undefined)
    await expect(addFinalizer(addition())).rejects.toBe(MISSING)
  })

  it('throws after the last try if every write conflicts', async () => {
    exists()
    beforeWrite = () => store({ uid: 'u', version: 5 + sent.length, finalizers: [THEIRS] })
    await expect(addFinalizer(addition())).rejects.toBe(CONFLICT)
    expect(sent).toHaveLength(3)
  })

  it('throws after a lost answer, and the next call finds the stored finalizer', async () => {
    exists()
    afterWrite = () => {
      throw LOST
    }
    await expect(addFinalizer(addition())).rejects.toBe(LOST)
    cached = stored
    expect(await addFinalizer(addition())).toEqual({ kind: 'present' })
    expect(sent).toHaveLength(1)
  })
})

describe('removeFinalizer', () => {
  it('removes the finalizer and keeps the finalizers of other clients', async () => {
    exists({ finalizers: [OURS, THEIRS] })
    expect(await removeFinalizer(removal())).toMatchObject({ kind: 'removed', saved: { finalizers: [THEIRS] } })
  })

  it('writes nothing and asks nothing if the object does not have the finalizer', async () => {
    exists()
    const isCleanedUp = () => {
      throw new Error('asked')
    }
    expect(await removeFinalizer(removal({ isCleanedUp }))).toEqual({ kind: 'absent' })
    expect(sent).toEqual([])
  })

  it('keeps the finalizer while the clean-up is not complete', async () => {
    exists({ finalizers: [OURS] })
    expect(await removeFinalizer(removal({ isCleanedUp: async () => false }))).toEqual({ kind: 'needed' })
    expect(sent).toEqual([])
  })

  it('asks again after a conflict, and keeps the finalizer if work has begun meanwhile', async () => {
    exists({ finalizers: [OURS] })
    beforeWrite = () => store({ uid: 'u', version: 2, finalizers: [OURS] })
    const isCleanedUp = ({ version }: Thing) => version === 1
    expect(await removeFinalizer(removal({ isCleanedUp }))).toEqual({ kind: 'needed' })
    expect([sent.length, stored?.finalizers]).toEqual([1, [OURS]])
  })

  it('does not write to an object that is recreated during the write', async () => {
    exists({ finalizers: [OURS] })
    beforeWrite = () => store({ uid: 'v', version: 1, finalizers: [OURS] })
    expect(await removeFinalizer(removal())).toEqual({ kind: 'gone' })
    expect([sent.length, stored?.finalizers]).toEqual([1, [OURS]])
  })

  it('throws after the last try if every write conflicts', async () => {
    exists({ finalizers: [OURS] })
    beforeWrite = () => store({ uid: 'u', version: 5 + sent.length, finalizers: [OURS] })
    await expect(removeFinalizer(removal())).rejects.toBe(CONFLICT)
    expect(sent).toHaveLength(3)
  })

  it('reads again after a lost answer if the caller permits it, and finds the finalizer removed', async () => {
    exists({ finalizers: [OURS] })
    afterWrite = () => {
      throw LOST
    }
    expect(await removeFinalizer(removal({ mayBeOutdated: isOutcomeUnknown }))).toEqual({ kind: 'absent' })
    expect(sent).toHaveLength(1)
  })
})

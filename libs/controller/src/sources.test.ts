import type { Cached, InformerEvent } from '@csi-sidecars/informer'
import { beforeEach, describe, expect, test } from '@jest/globals'
import {
  bringsNews,
  enqueueOn,
  forgetDeleted,
  forgetHistoryOn,
  KeyFeed,
  type Source,
  WakeFeed,
  wakeOn,
} from './sources.ts'
import { recordingQueue, ScriptedInformer } from './testing/scripted-source.ts'

interface Claim extends Cached {
  readonly volume: string
}

const claim = (key: string, volume: string): Claim => ({ key, volume, uid: `uid-${key}`, resourceVersion: '1' })

const EVENTS: readonly InformerEvent<Claim>[] = [
  { type: 'added', object: claim('c', 'pv-5') },
  { type: 'updated', before: claim('a', 'pv-1'), after: claim('a', 'pv-3'), origin: 'change' },
  { type: 'deleted', object: claim('b', 'pv-2') },
]

const volumesOf = (event: InformerEvent<Claim>): string[] =>
  event.type === 'updated' ? [event.before.volume, event.after.volume] : [`${event.type} ${event.object.volume}`]

const done: string[] = []
const queue = recordingQueue(done, { inWork: 'a' })
beforeEach(() => {
  done.length = 0
})

function run(informer: ScriptedInformer<Claim>, source: Source<string>): readonly string[] {
  const end = source(queue)
  for (const event of EVENTS) informer.emit(event)
  end()
  for (const event of EVENTS) informer.emit(event)
  return done
}

test('`enqueueOn` adds keys from cached objects and then from every event, until the source ends', () => {
  const informer = new ScriptedInformer(claim('a', 'pv-1'), claim('b', 'pv-2'))
  expect(run(informer, enqueueOn(informer.asInformer(), volumesOf))).toEqual(
    ['added pv-1', 'added pv-2', 'added pv-5', 'pv-1', 'pv-3', 'deleted pv-2'].map((key) => `add ${key}`),
  )
})

test('failed objects at the start and all objects at a resync are added with the priority `retry`', () => {
  const informer = new ScriptedInformer(claim('a', 'pv-1'), claim('b', 'pv-2'))
  const keyOf = (event: InformerEvent<Claim>): string[] => [
    event.type === 'updated' ? event.after.key : event.object.key,
  ]
  const end = enqueueOn(informer.asInformer(), keyOf, ({ key }) => key === 'b')(queue)
  const object = claim('b', 'pv-2')
  for (const origin of ['resync', 'change'] as const) {
    informer.emit({ type: 'updated', before: object, after: object, origin })
  }
  end()
  expect(done).toEqual(['add a', 'add b as retry', 'add b as retry', 'add b'])
})

test('the trigger of `enqueueOn` can skip a key that is running', () => {
  const informer = new ScriptedInformer<Claim>()
  const idle = enqueueOn(informer.asInformer(), (event, { isInWork }) => {
    const { key } = event.type === 'updated' ? event.after : event.object
    return isInWork(key) ? [] : [key]
  })
  expect(run(informer, idle)).toEqual(['add c', 'add b'])
})

test('`forgetHistoryOn` resets the back-off of the keys of each event, and ignores cached objects', () => {
  const informer = new ScriptedInformer(claim('a', 'pv-1'))
  const updated = forgetHistoryOn(informer.asInformer(), (event) => (event.type === 'updated' ? [event.after.key] : []))
  expect(run(informer, updated)).toEqual(['forget history of a'])
})

test('`wakeOn` wakes the keys that wait for an event, and ignores cached objects', () => {
  const informer = new ScriptedInformer(claim('a', 'pv-1'))
  const added = wakeOn(informer.asInformer(), (event) =>
    event.type === 'added' ? [{ kind: 'volume', name: event.object.volume }] : [],
  )
  expect(run(informer, added)).toEqual(['wake volume pv-5'])
})

test('a `WakeFeed` wakes the keys of all its controllers until they end', () => {
  const feed = new WakeFeed<'endOfUse'>()
  feed.wake({ kind: 'endOfUse', name: 'too early' })
  const stops = [feed.source(queue), feed.source({ ...queue, wake: ({ name }) => done.push(`other ${name}`) })]
  feed.wake({ kind: 'endOfUse', name: 'a' })
  for (const stop of stops) stop()
  feed.wake({ kind: 'endOfUse', name: 'too late' })
  expect(done).toEqual(['wake endOfUse a', 'other a'])
})

test('`forgetDeleted` forgets the key of a deleted object before it calls `onDelete`', () => {
  const informer = new ScriptedInformer(claim('a', 'pv-1'))
  expect(
    run(
      informer,
      forgetDeleted(informer.asInformer(), ({ uid }) => done.push(`gone ${uid}`)),
    ),
  ).toEqual(['forget b', 'gone uid-b'])
})

test('`KeyFeed` also adds keys that were requested before the queue started', () => {
  const feed = new KeyFeed()
  feed.add('early')
  const end = feed.source(queue)
  feed.add('late')
  end()
  feed.add('next')
  expect(done).toEqual(['add early', 'add late'])
  feed.source(queue)
  expect(done).toEqual(['add early', 'add late', 'add next'])
})

describe('bringsNews', () => {
  interface FinalizedObject extends Cached {
    readonly finalizers: readonly string[]
    readonly size: string
  }
  const state = (resourceVersion: string, change: Partial<FinalizedObject> = {}): FinalizedObject => ({
    key: 'a',
    uid: 'uid of a',
    resourceVersion,
    finalizers: [],
    size: '1Gi',
    ...change,
  })
  const withoutOurs = (object: FinalizedObject): FinalizedObject => ({
    ...object,
    finalizers: object.finalizers.filter((name) => name !== 'ours'),
  })
  const before = state('1')

  test.each<[name: string, after: FinalizedObject, isReported: boolean]>([
    ['our finalizer', state('2', { finalizers: ['ours'] }), false],
    ['a field that is not cached', state('2'), false],
    ['the finalizer of another writer', state('2', { finalizers: ['ours', 'other'] }), true],
    ['a field of another writer', state('2', { size: '2Gi' }), true],
  ])('an update of %s brings news only if another writer wrote it', (_, after, expected) => {
    expect(bringsNews({ type: 'updated', before, after, origin: 'change' }, withoutOurs)).toBe(expected)
  })

  test('an added object, a deleted object and a resync bring news', () => {
    const events: readonly InformerEvent<FinalizedObject>[] = [
      { type: 'added', object: before },
      { type: 'deleted', object: before },
      { type: 'updated', before, after: before, origin: 'resync' },
    ]
    expect(events.map((event) => bringsNews(event, withoutOurs))).toEqual([true, true, true])
  })
})

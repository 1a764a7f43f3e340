import { FakeClock } from '@csi-sidecars/base/testing'
import { ApiError } from '@csi-sidecars/kube-client'
import { SECRETS } from '@csi-sidecars/kube-types'
import { expect, it } from '@jest/globals'
import { awaitedObjects } from './awaited-objects.ts'
import type { Enqueuer } from './sources.ts'
import { WaitingKeys } from './waiting.ts'
import type { WakeEvent } from './wake-event.ts'

const NOT_FOUND = new ApiError({ code: 404, reason: 'NotFound', message: 'not found' })
const UNAVAILABLE = new ApiError({ code: 503, reason: 'ServiceUnavailable', message: 'not now' })

function open() {
  const clock = new FakeClock()
  const waiting = new WaitingKeys()
  const inWork = new Set<string>()
  /** The UID and version of each existing object, by its key. */
  const versions = new Map<string, string>()
  const reads: string[] = []
  const runs: string[] = []
  const server: { onRead: (() => void) | undefined; failure: unknown } = { onRead: undefined, failure: undefined }
  const get = async (_: unknown, { namespace, name }: { namespace?: string; name: string }): Promise<never> => {
    const key = namespace === undefined ? name : `${namespace}/${name}`
    reads.push(key)
    const version = versions.get(key)
    server.onRead?.()
    if (server.failure !== undefined) throw server.failure
    if (version === undefined) throw NOT_FOUND
    const [uid, resourceVersion] = version.split('/')
    return { metadata: { uid, resourceVersion } } as never
  }
  const queue = {
    keysWaitingFor: (event: WakeEvent) => waiting.keysWaitingFor(event),
    onWait: (listener: (events: readonly WakeEvent[]) => void) => waiting.onWait(listener),
    isInWork: (key: string) => inWork.has(key),
    resetBackoff: () => undefined,
    add: (key: string) => runs.push(key),
  } as unknown as Enqueuer
  const stop = awaitedObjects({ api: { get } as never, clock, resources: { secret: SECRETS } }).secret(queue)
  const wait = (key: string, ...events: readonly WakeEvent[]) => waiting.set(key, events)
  const runsOf = async (ms: number): Promise<readonly string[]> => {
    await clock.advance(ms)
    return runs.splice(0)
  }
  return { clock, waiting, inWork, versions, reads, server, stop, wait, runsOf }
}

const secret = (name: string): WakeEvent => ({ kind: 'secret', name: `ns/${name}` })

it('a waiting key runs once within a second after its missing object appears, and once for each change', async () => {
  const { versions, wait, runsOf, stop } = open()
  wait('key', secret('a'), { kind: 'class', name: 'cached' })
  expect(await runsOf(60_000)).toEqual([])
  versions.set('ns/a', 'u/1')
  expect(await runsOf(1_000)).toEqual(['key'])
  expect(await runsOf(10_000)).toEqual([])
  versions.set('ns/a', 'u/2')
  expect(await runsOf(1_500)).toEqual(['key'])
  stop()
})

it('an object that is deleted and recreated in the same second runs its keys again', async () => {
  const { versions, wait, runsOf, stop } = open()
  versions.set('ns/a', 'first/1')
  wait('key', secret('a'))
  expect(await runsOf(1_000)).toEqual(['key'])
  versions.set('ns/a', 'second/1')
  expect(await runsOf(1_000)).toEqual(['key'])
  versions.delete('ns/a')
  expect(await runsOf(1_000)).toEqual(['key'])
  stop()
})

it('keys that wait for the same missing object share one read, and the reads become rarer over time', async () => {
  const { clock, reads, wait, stop } = open()
  for (let key = 0; key < 1_000; key += 1) wait(`${key}`, secret('a'))
  await clock.advance(7_000)
  expect(reads).toHaveLength(10)
  await clock.advance(3_600_000)
  reads.length = 0
  await clock.advance(60_000)
  expect(reads.length).toBeLessThanOrEqual(3)
  stop()
})

it('100 missing objects take turns, so that each object is read once in seven seconds', async () => {
  const { clock, reads, wait, stop } = open()
  for (let key = 0; key < 100; key += 1) wait(`${key}`, secret(`${key}`))
  await clock.advance(7_000)
  expect(reads).toHaveLength(100)
  expect(new Set(reads).size).toBe(100)
  stop()
})

it.each(Array.from({ length: 12 }, (_, index) => index))(
  'a key that begins to wait %i microtasks after the last key has stopped waiting is not forgotten',
  async (microtasks) => {
    const { clock, reads, server, wait, stop } = open()
    wait('a', secret('a'))
    const replace = async (): Promise<void> => {
      wait('a')
      for (let left = microtasks; left > 0; left -= 1) await undefined
      wait('b', secret('b'))
    }
    server.onRead = () => {
      server.onRead = undefined
      void replace()
    }
    await clock.advance(2_000)
    expect(reads).toContain('ns/b')
    stop()
  },
)

it('no object is read after the last key has stopped waiting, and no timer is left', async () => {
  const { clock, reads, waiting, wait, stop } = open()
  wait('settled', secret('a'))
  wait('forgotten', secret('b'))
  wait('other', secret('c'))
  wait('settled')
  waiting.delete('forgotten')
  wait('other', { kind: 'class', name: 'cached' })
  await clock.advance(10_000)
  expect([reads, clock.pending]).toEqual([[], 0])
  stop()
})

it('no object is read after the term has ended', async () => {
  const { clock, reads, wait, stop } = open()
  wait('a', secret('a'))
  stop()
  wait('b', secret('b'))
  await clock.advance(10_000)
  expect([reads, clock.pending]).toEqual([[], 0])
})

it('a key that fails again because of the same version does not run again before the next change', async () => {
  const { versions, inWork, wait, runsOf, stop } = open()
  versions.set('ns/a', 'u/1')
  wait('key', secret('a'))
  expect(await runsOf(1_000)).toEqual(['key'])
  // The run ends the wait when it begins, takes long, and waits again when it fails.
  inWork.add('key')
  wait('key')
  expect(await runsOf(10_000)).toEqual([])
  wait('key', secret('a'))
  inWork.delete('key')
  expect(await runsOf(10_000)).toEqual([])
  versions.set('ns/a', 'u/2')
  expect(await runsOf(1_000)).toEqual(['key'])
  stop()
})

it('a change during a run is not missed, although it runs another waiting key at once', async () => {
  const { versions, inWork, wait, runsOf, stop } = open()
  wait('running', secret('a'))
  wait('waiting', secret('a'))
  expect(await runsOf(1_000)).toEqual([])
  inWork.add('running')
  wait('running')
  versions.set('ns/a', 'u/1')
  expect(await runsOf(1_000)).toEqual(['waiting'])
  // The run has read the object before the change.
  wait('running', secret('a'))
  inWork.delete('running')
  expect(await runsOf(1_000)).toEqual(['running'])
  stop()
})

it('a failed read changes nothing, and the object is read again', async () => {
  const { versions, reads, server, wait, runsOf, stop } = open()
  versions.set('ns/a', 'u/1')
  server.failure = UNAVAILABLE
  wait('key', secret('a'))
  expect(await runsOf(2_000)).toEqual([])
  expect(reads).toHaveLength(2)
  server.failure = undefined
  expect(await runsOf(1_000)).toEqual(['key'])
  stop()
})

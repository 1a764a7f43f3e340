import { FakeClock } from '@csi-sidecars/base/testing'
import type { Cause, Enqueuer } from '@csi-sidecars/controller'
import { ApiError } from '@csi-sidecars/kube-client'
import { expect, it } from '@jest/globals'
import { AwaitedObjects } from './awaited.ts'

const NOT_FOUND = new ApiError({ code: 404, reason: 'NotFound', message: 'not found' })

function open() {
  const clock = new FakeClock()
  const versions = new Map<string, string>()
  const reads: string[] = []
  const woken: string[] = []
  const onRead: { run: (() => Promise<void>) | undefined } = { run: undefined }
  const get = async (_: unknown, { namespace, name }: { namespace?: string; name: string }): Promise<never> => {
    const key = namespace === undefined ? name : `${namespace}/${name}`
    reads.push(key)
    void onRead.run?.()
    const resourceVersion = versions.get(key)
    if (resourceVersion === undefined) throw NOT_FOUND
    return { metadata: { uid: key, resourceVersion } } as never
  }
  const awaited = new AwaitedObjects({ get } as never, clock)
  const stop = awaited.source({ wake: ({ name = '' }: Cause) => woken.push(name) } as unknown as Enqueuer)
  return { clock, versions, reads, woken, awaited, stop, onRead }
}

const secret = (name: string): Cause => ({ on: 'secret', name: `ns/${name}` })

it('a waiting claim runs again within a second after its missing object appears', async () => {
  const { clock, versions, woken, awaited, stop } = open()
  awaited.await('claim', [secret('a'), { on: 'class', name: 'cached' }])
  await clock.advance(60_000)
  expect(woken).toEqual([])
  versions.set('ns/a', '1')
  await clock.advance(1_000)
  expect(woken).toEqual(['ns/a'])
  await clock.advance(10_000)
  expect(woken).toEqual(['ns/a'])
  versions.set('ns/a', '2')
  await clock.advance(1_500)
  expect(woken).toEqual(['ns/a', 'ns/a'])
  stop()
})

it('claims that wait for the same missing object share one read, and the reads become rarer over time', async () => {
  const { clock, reads, awaited, stop } = open()
  for (let claim = 0; claim < 1_000; claim += 1) awaited.await(`${claim}`, [secret('a')])
  await clock.advance(7_000)
  expect(reads).toHaveLength(10)
  await clock.advance(3_600_000)
  reads.length = 0
  await clock.advance(60_000)
  expect(reads.length).toBeLessThanOrEqual(3)
  stop()
})

it('100 missing objects take turns, so that each object is read once in seven seconds', async () => {
  const { clock, reads, awaited, stop } = open()
  for (let claim = 0; claim < 100; claim += 1) awaited.await(`${claim}`, [secret(`${claim}`)])
  await clock.advance(7_000)
  expect(reads).toHaveLength(100)
  expect(new Set(reads).size).toBe(100)
  stop()
})

it.each(Array.from({ length: 12 }, (_, index) => index))(
  'a claim that begins to wait %i microtasks after the last claim has stopped waiting is not forgotten',
  async (microtasks) => {
    const { clock, reads, awaited, stop, onRead } = open()
    awaited.await('a', [secret('a')])
    onRead.run = async () => {
      onRead.run = undefined
      awaited.forget('a')
      for (let left = microtasks; left > 0; left -= 1) await undefined
      awaited.await('b', [secret('b')])
    }
    await clock.advance(2_000)
    expect(reads).toContain('ns/b')
    stop()
  },
)

it('missing objects are read only while a claim waits for them and this process leads', async () => {
  const { clock, reads, awaited, stop } = open()
  awaited.await('a', [secret('a')])
  awaited.await('b', [secret('b')])
  awaited.forget('a')
  awaited.await('b', [])
  await clock.advance(10_000)
  expect(reads).toEqual([])
  stop()
  awaited.await('a', [secret('a')])
  await clock.advance(10_000)
  expect(reads).toEqual([])
})

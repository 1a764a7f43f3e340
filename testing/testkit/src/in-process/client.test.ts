import { FakeClock } from '@csi-sidecars/base/testing'
import { createInProcessServer, type InProcessServer } from '@csi-sidecars/emulator'
import { PERSISTENT_VOLUMES, type PersistentVolume, type Status, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { pv } from '../builders.ts'
import { InProcessClient } from './client.ts'
import { StepGate } from './gate.ts'

class Refusal extends Error {
  readonly code: number | undefined
  constructor({ code, message = '' }: Status) {
    super(message)
    this.code = code
  }
}
const errorOf = (status: Status): Refusal => new Refusal(status)
const label = { kind: 'merge', body: { metadata: { labels: { a: 'b' } } } } as const

let clock: FakeClock
let server: InProcessServer
let client: InProcessClient<Refusal>
beforeEach(() => {
  clock = new FakeClock()
  server = createInProcessServer({ clock })
  client = new InProcessClient(server, { errorOf })
})
afterEach(() => server.stop())

async function settled<T>(promise: Promise<T>): Promise<PromiseSettledResult<T>> {
  await clock.settle()
  const [result] = await Promise.allSettled([Promise.race([promise, Promise.reject(new Error('still waits'))])])
  return result
}

test('the in-process client creates, reads, changes and deletes objects', async () => {
  const made = await client.create(PERSISTENT_VOLUMES, pv())
  const patched = await client.patch(PERSISTENT_VOLUMES, { name: 'pv-1' }, label)
  expect(patched.metadata).toMatchObject({ uid: made.metadata?.uid, labels: { a: 'b' } })
  expect(await client.get(PERSISTENT_VOLUMES, { name: 'pv-1' })).toEqual(patched)
  await client.delete(PERSISTENT_VOLUMES, { name: 'pv-1' })
  await expect(client.get(PERSISTENT_VOLUMES, { name: 'pv-1' })).rejects.toMatchObject({
    code: 404,
    message: 'persistentvolumes "pv-1" not found',
  })
  expect(server.requests.matching({ method: 'PATCH' })).toHaveLength(1)
})

test('`discover` returns the bodies of /healthz and /version, and throws a 404 for an unknown path', async () => {
  expect(await client.discover('/healthz')).toBe('ok')
  expect(await client.discover('/version')).toMatchObject({ major: '1' })
  await expect(client.discover('/nothing')).rejects.toMatchObject({ code: 404, message: '404 page not found' })
})

test('`list` returns projected objects page by page', async () => {
  for (const name of ['pv-1', 'pv-2', 'pv-3']) server.create(PERSISTENT_VOLUMES, pv(name))
  const pages: unknown[] = []
  const project = ({ metadata }: PersistentVolume) => (metadata?.name === 'pv-2' ? undefined : metadata?.name)
  for await (const page of client.list(PERSISTENT_VOLUMES, { pageSize: 2, project })) pages.push(page.items)
  expect(pages).toEqual([['pv-1'], ['pv-3']])
})

test('with `watchesLag`, a watch delivers the initial objects at once and delays later changes', async () => {
  client = new InProcessClient(server, { errorOf, watchesLag: true })
  server.create(PERSISTENT_VOLUMES, pv('pv-1'))
  const seen: string[] = []
  const reading = (async () => {
    for await (const frame of client.watch(PERSISTENT_VOLUMES, { sendInitialEvents: true })) {
      if (frame.type === 'END') seen.push(frame.why)
      else if (frame.type === 'BOOKMARK') seen.push('BOOKMARK')
      else seen.push(`${frame.type} ${frame.object.metadata?.name}`)
    }
  })()
  await clock.settle()
  server.create(PERSISTENT_VOLUMES, pv('pv-2'))
  server.create(PERSISTENT_VOLUMES, pv('pv-3'))
  await clock.settle()
  expect(seen).toEqual(['ADDED pv-1', 'BOOKMARK'])
  client.deliver(VOLUME_ATTACHMENTS)
  client.deliver(PERSISTENT_VOLUMES, 1)
  await clock.settle()
  expect(seen).toEqual(['ADDED pv-1', 'BOOKMARK', 'ADDED pv-2'])
  server.dropWatches()
  await reading
  expect(seen).toEqual(['ADDED pv-1', 'BOOKMARK', 'ADDED pv-2', 'ADDED pv-3', 'closed'])
  expect(client.watches.size).toBe(0)
})

test('a watch reports a compacted resourceVersion, a cut connection and a refused selector', async () => {
  server.compact()
  const reading = client.watch(PERSISTENT_VOLUMES, { resourceVersion: '1' })
  expect(await reading.next()).toMatchObject({ value: { type: 'END', why: 'error', error: { code: 410 } } })
  const cut = client.watch(PERSISTENT_VOLUMES, {}).next()
  await clock.settle()
  server.dropWatches({ how: 'cut' })
  expect(await cut).toMatchObject({ value: { type: 'END', why: 'broken' } })
  const refused = client.watch(PERSISTENT_VOLUMES, { labelSelector: '!!' })
  await expect(refused.next()).rejects.toMatchObject({ code: 400 })
})

test('fault rules of the emulated API server can refuse, cut and delay requests', async () => {
  server.create(PERSISTENT_VOLUMES, pv())
  const patch = (): Promise<unknown> => client.patch(PERSISTENT_VOLUMES, { name: 'pv-1' }, label)
  server.faults.add({ match: { verb: 'patch' }, times: 1, action: { kind: 'answer', code: 409 } })
  server.faults.add({ match: { verb: 'patch' }, times: 1, action: { kind: 'cut', applied: true } })
  await expect(patch()).rejects.toMatchObject({ code: 409 })
  await expect(patch()).rejects.toMatchObject({ code: 0 })
  expect(server.get(PERSISTENT_VOLUMES, { name: 'pv-1' })?.metadata?.labels).toEqual({ a: 'b' })
  const hold = server.faults.hold({ verb: 'patch' })
  const answer = patch()
  expect(await settled(answer)).toMatchObject({ reason: { message: 'still waits' } })
  hold.release()
  expect(await settled(answer)).toMatchObject({ status: 'fulfilled' })
})

test('a request ends when its signal is aborted, and is not sent if `beforeSend` throws', async () => {
  server.faults.add({ action: { kind: 'hang' } })
  const stop = new AbortController()
  const waiting = client.get(PERSISTENT_VOLUMES, { name: 'pv-1' }, { signal: stop.signal })
  stop.abort(new Error('enough'))
  await expect(waiting).rejects.toThrow('enough')
  const before = server.requests.total
  const beforeSend = (): never => {
    throw new Error('does not lead')
  }
  await expect(client.get(PERSISTENT_VOLUMES, { name: 'pv-1' }, { beforeSend })).rejects.toThrow('does not lead')
  expect(server.requests.total).toBe(before)
})

test('a test can let a request fail before or after the server applies it', async () => {
  const gate = new StepGate()
  client = new InProcessClient(server, { errorOf, gate })
  server.create(PERSISTENT_VOLUMES, pv())
  const labels = (): unknown => server.get(PERSISTENT_VOLUMES, { name: 'pv-1' })?.metadata?.labels
  const lost = client.patch(PERSISTENT_VOLUMES, { name: 'pv-1' }, label)
  await clock.settle()
  expect(gate.inFlight.map((each) => [each.label, each.write])).toEqual([['patch persistentvolumes/pv-1', true]])
  gate.inFlight[0]?.answer(new Error('lost'))
  await expect(lost).rejects.toThrow('lost')
  expect(labels()).toBeUndefined()
  const done = client.patch(PERSISTENT_VOLUMES, { name: 'pv-1' }, label)
  await clock.settle()
  gate.inFlight[0]?.apply()
  await clock.settle()
  expect(labels()).toEqual({ a: 'b' })
  gate.inFlight[0]?.answer(new Error('lost as well'))
  await expect(done).rejects.toThrow('lost as well')
})

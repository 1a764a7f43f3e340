import { PERSISTENT_VOLUMES, STORAGE_CLASSES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { type ApiServer, startApiServer } from './server.ts'

let api: ApiServer

beforeEach(async () => {
  api = await startApiServer()
})

afterEach(() => api.stop())

type Answer = { code: number; body: Record<string, unknown> }

async function ask(method: string, path: string, body?: unknown): Promise<Answer> {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
  const init =
    body === undefined ? { method } : { method, body: JSON.stringify(body), headers: { 'content-type': type } }
  const response = await fetch(api.url + path, init)
  return { code: response.status, body: (await response.json()) as Record<string, unknown> }
}

function volume(name: string, rest: object = {}): object {
  const csi = { driver: 'csi.example.com', volumeHandle: name }
  const spec = { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], csi }
  return { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name, ...rest }, spec }
}

const VOLUMES = '/api/v1/persistentvolumes'

/** Reads the events of a watch until `enough` returns true or the watch ends. */
async function watch(query: string, enough: (frames: readonly Frame[]) => boolean, path = VOLUMES): Promise<Frame[]> {
  const response = await fetch(`${api.url}${path}?watch=true&${query}`)
  const frames: Frame[] = []
  let text = ''
  for await (const chunk of response.body ?? []) {
    text += new TextDecoder().decode(chunk)
    const lines = text.split('\n')
    text = lines.pop() ?? ''
    frames.push(...lines.map((line) => JSON.parse(line) as Frame))
    if (enough(frames)) break
  }
  return frames
}

interface Frame {
  readonly type: string
  readonly object: {
    readonly metadata: { readonly name?: string; readonly annotations?: Record<string, string> }
    code?: number
  }
}

const named = (frames: readonly Frame[]): string[] =>
  frames.map(({ type, object }) => `${type} ${object.metadata.name ?? ''}`)

test('a created object gets the fields that the server sets, and a GET returns the same object', async () => {
  const created = await ask('POST', VOLUMES, volume('pv-1'))
  expect(created.code).toBe(201)
  expect(created.body['status']).toEqual({ phase: 'Pending', lastPhaseTransitionTime: expect.any(String) })
  expect(created.body['metadata']).toMatchObject({
    name: 'pv-1',
    uid: expect.any(String),
    resourceVersion: expect.any(String),
  })
  expect((await ask('GET', `${VOLUMES}/pv-1`)).body).toEqual(created.body)
})

test('the server refuses a second object of the same name', async () => {
  await ask('POST', VOLUMES, volume('pv-1'))
  expect(await ask('POST', VOLUMES, volume('pv-1'))).toMatchObject({
    code: 409,
    body: { reason: 'AlreadyExists', message: 'persistentvolumes "pv-1" already exists' },
  })
})

test('a stale resourceVersion is a conflict with the message of the real server', async () => {
  const old = (await ask('POST', VOLUMES, volume('pv-1'))).body
  await ask('PATCH', `${VOLUMES}/pv-1`, { metadata: { labels: { a: 'b' } } })
  expect(await ask('PUT', `${VOLUMES}/pv-1`, old)).toMatchObject({
    code: 409,
    body: {
      reason: 'Conflict',
      message:
        'Operation cannot be fulfilled on persistentvolumes "pv-1": the object has been modified; please apply your changes to the latest version and try again',
    },
  })
})

test('a patch that changes nothing keeps the resourceVersion and sends no watch event', async () => {
  const { body } = await ask('POST', VOLUMES, volume('pv-1'))
  const before = api.resourceVersion
  expect((await ask('PATCH', `${VOLUMES}/pv-1`, {})).body).toEqual(body)
  expect(api.resourceVersion).toBe(before)
})

test('a deleted object disappears when a write removes its last finalizer', async () => {
  await ask('POST', VOLUMES, volume('pv-1', { finalizers: ['a/b'] }))
  const marked = await ask('DELETE', `${VOLUMES}/pv-1`)
  expect(marked.body['metadata']).toMatchObject({
    deletionTimestamp: expect.any(String),
    deletionGracePeriodSeconds: 0,
  })
  expect((await ask('PATCH', `${VOLUMES}/pv-1`, { metadata: { finalizers: null } })).code).toBe(200)
  expect((await ask('GET', `${VOLUMES}/pv-1`)).code).toBe(404)
})

test('all pages of a list show the same revision, or fail with 410 after a compaction', async () => {
  for (const name of ['pv-1', 'pv-2', 'pv-3']) await ask('POST', VOLUMES, volume(name))
  const first = (await ask('GET', `${VOLUMES}?limit=2`)).body
  const { continue: token, remainingItemCount } = first['metadata'] as { continue: string; remainingItemCount: number }
  expect(remainingItemCount).toBe(1)
  await ask('DELETE', `${VOLUMES}/pv-3`)
  const rest = await ask('GET', `${VOLUMES}?limit=2&continue=${token}`)
  expect(rest.body['items']).toMatchObject([{ metadata: { name: 'pv-3' } }])
  api.compact()
  expect(await ask('GET', `${VOLUMES}?limit=2&continue=${token}`)).toMatchObject({
    code: 410,
    body: { reason: 'Expired' },
  })
})

test('a streaming list sends all objects, and then a bookmark that marks their end', async () => {
  await ask('POST', VOLUMES, volume('pv-1'))
  const query = 'sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan'
  const frames = await watch(query, (all) => all.length === 2)
  expect(named(frames)).toEqual(['ADDED pv-1', 'BOOKMARK '])
  expect(frames[1]?.object.metadata.annotations).toEqual({ 'k8s.io/initial-events-end': 'true' })
})

test('a watch with a selector sends DELETED for an object that no longer matches', async () => {
  const { resourceVersion } = api
  await ask('POST', VOLUMES, volume('pv-1', { labels: { a: '1' } }))
  await ask('PATCH', `${VOLUMES}/pv-1`, { metadata: { labels: { a: '2' } } })
  const query = `resourceVersion=${resourceVersion}&labelSelector=a%3D1`
  expect(named(await watch(query, (all) => all.length === 2))).toEqual(['ADDED pv-1', 'DELETED pv-1'])
})

test('a watch from a compacted version ends with 410', async () => {
  const { resourceVersion } = api
  await ask('POST', VOLUMES, volume('pv-1'))
  api.compact()
  const [frame] = await watch(`resourceVersion=${resourceVersion}`, () => false)
  expect(frame).toMatchObject({ type: 'ERROR', object: { code: 410, reason: 'Expired' } })
})

test('`dropWatches` ends open watches without an error', async () => {
  const ended = watch(`resourceVersion=${api.resourceVersion}`, () => false)
  await api.requests.until({ verb: 'watch' })
  api.dropWatches()
  expect(await ended).toEqual([])
})

test('only the status subresource can change the status of a VolumeAttachment, and it changes nothing else', async () => {
  const path = '/apis/storage.k8s.io/v1/volumeattachments'
  const spec = { attacher: 'csi.example.com', nodeName: 'n', source: { persistentVolumeName: 'pv-1' } }
  const created = await ask('POST', path, { metadata: { name: 'va-1' }, spec, status: { attached: true } })
  expect(created.body['status']).toEqual({ attached: false })
  await ask('PATCH', `${path}/va-1`, { status: { attached: true } })
  await ask('PATCH', `${path}/va-1/status`, { metadata: { finalizers: ['a/b'] }, status: { attached: true } })
  expect(api.get(VOLUME_ATTACHMENTS, { name: 'va-1' })).toMatchObject({ status: { attached: true } })
  expect(api.get(VOLUME_ATTACHMENTS, { name: 'va-1' })?.metadata?.finalizers).toBeUndefined()
})

test('a fault with `applied` replaces only the answer to a write, and the server still performs the write', async () => {
  const action = { kind: 'answer', code: 429, retryAfterSeconds: 1, applied: true } as const
  const rule = api.faults.add({ match: { verb: 'create' }, times: 1, action })
  const refused = await ask('POST', VOLUMES, volume('pv-1'))
  expect(refused).toMatchObject({ code: 429, body: { reason: 'TooManyRequests', details: { retryAfterSeconds: 1 } } })
  expect(rule.hits).toBe(1)
  expect(api.get(PERSISTENT_VOLUMES, { name: 'pv-1' })).toBeDefined()
})

test('a request that matches `faults.hold` takes effect only after `release` is called', async () => {
  const hold = api.faults.hold({ verb: 'create' })
  const answer = ask('POST', VOLUMES, volume('pv-1'))
  await hold.arrived
  expect(api.get(PERSISTENT_VOLUMES, { name: 'pv-1' })).toBeUndefined()
  hold.release()
  expect((await answer).code).toBe(201)
})

test('the request log contains each write with its body and the code of the answer', async () => {
  await ask('POST', VOLUMES, volume('pv-1'))
  await ask('PATCH', `${VOLUMES}/pv-1`, { metadata: { labels: { a: 'b' } } })
  expect(api.requests.writes).toMatchObject([
    { method: 'POST', verb: 'create', resource: 'persistentvolumes', name: undefined, code: 201 },
    {
      method: 'PATCH',
      verb: 'patch',
      name: 'pv-1',
      contentType: 'application/merge-patch+json',
      body: { metadata: { labels: { a: 'b' } } },
      code: 200,
    },
  ])
})

test('a program that embeds the server can create, change and await objects without requests', async () => {
  const seen = api.until(STORAGE_CLASSES, { name: 'sc' }, (object) => object.allowVolumeExpansion)
  api.create(STORAGE_CLASSES, { metadata: { name: 'sc' }, provisioner: 'p' })
  api.update(STORAGE_CLASSES, { name: 'sc' }, (object) => ({ ...object, allowVolumeExpansion: true }))
  expect(await seen).toMatchObject({ provisioner: 'p', allowVolumeExpansion: true })
})

test('the server refuses a body over 3 MiB', async () => {
  const answer = await ask('POST', VOLUMES, { padding: 'x'.repeat(3 * 1024 * 1024) }).catch(() => ({ code: 413 }))
  expect(answer.code).toBe(413)
})

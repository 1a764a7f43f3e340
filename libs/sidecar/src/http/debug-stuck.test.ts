import { FakeClock } from '@csi-sidecars/base/testing'
import { Backlog, type PendingWork } from '@csi-sidecars/controller'
import { Metrics } from '@csi-sidecars/telemetry'
import { beforeEach, describe, expect, test } from '@jest/globals'
import { debugStuck } from './debug-stuck.ts'

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5, 600)

const work = (name: string, change: Partial<PendingWork> = {}): PendingWork => ({
  sidecar: 'external-attacher',
  key: name,
  queue: 'csi-attacher-va',
  operation: 'attach',
  object: { kind: 'VolumeAttachment', namespace: '', name, uid: `uid-${name}` },
  volume: `pv-${name}`,
  node: 'node-1',
  state: 'backoff',
  reason: 'Unavailable',
  since: NOW,
  stuck: false,
  tries: 3,
  code: 'Unavailable',
  message: 'no',
  waitsFor: [],
  nextTry: NOW + 4000,
  ...change,
})

let backlog: Backlog
let pending: PendingWork[]
let missingPermissions: readonly string[]
const limits = { inFlight: 100, refusals: undefined }
beforeEach(() => {
  pending = []
  missingPermissions = []
  backlog = new Backlog({ driver: 'csi.example.com', clock: new FakeClock({ now: NOW }), metrics: new Metrics() })
  backlog.join(() => pending)
})

interface Body {
  readonly items: readonly { readonly object?: { readonly name: string } }[]
  readonly total: number
  readonly continue?: string
}
async function ask(query: Record<string, string> = {}): Promise<Body> {
  const { status, body, headers } = await debugStuck(
    { backlog, limits, missingPermissions },
    new URLSearchParams(query),
  )
  expect([status, headers?.['Content-Type']]).toEqual([200, 'application/json'])
  return JSON.parse(body)
}
const namesOf = ({ items }: Body): (string | undefined)[] => items.map(({ object }) => object?.name)

test('/debug/stuck reports how many requests the API server has refused', async () => {
  const refusing = { inFlight: 3, refusals: { count: 312, since: NOW } }
  const { body } = await debugStuck({ backlog, limits: refusing, missingPermissions }, new URLSearchParams())
  const apiServer = { refused: 312, since: '2026-01-02T03:04:05.600Z', inFlight: 3 }
  expect(JSON.parse(String(body))).toEqual({ items: [], total: 0, apiServer })
})

test('/debug/stuck reports missing permissions as RBAC rules that an administrator has to add', async () => {
  const rule = 'volumeattributesclasses.storage.k8s.io: get, list, watch'
  missingPermissions = [rule]
  expect(await ask()).toEqual({ items: [], total: 0, missingPermissions: [rule] })
})

test('/debug/stuck reports every field of an object with pending work if all values are known', async () => {
  pending = [work('a')]
  expect(await ask()).toEqual({
    items: [
      {
        driver: 'csi.example.com',
        sidecar: 'external-attacher',
        operation: 'attach',
        object: { kind: 'VolumeAttachment', namespace: '', name: 'a', uid: 'uid-a' },
        volume: 'pv-a',
        node: 'node-1',
        state: 'backoff',
        reason: 'Unavailable',
        since: '2026-01-02T03:04:05.600Z',
        stuck: false,
        tries: 3,
        code: 'Unavailable',
        message: 'no',
        nextTry: '2026-01-02T03:04:09.600Z',
      },
    ],
    total: 1,
  })
})

test('/debug/stuck omits unknown fields, and `waitsFor` names the object that the work waits for', async () => {
  const unknown = { object: undefined, volume: undefined, code: undefined, message: undefined, nextTry: undefined }
  pending = [work('a', { ...unknown, state: 'waiting', waitsFor: ['CSINode node-1'] })]
  expect(Object.keys((await ask()).items[0] ?? {}).sort()).toEqual(
    'driver node operation reason sidecar since state stuck tries waitsFor'.split(' '),
  )
})

describe('pages', () => {
  beforeEach(() => {
    pending = ['e', 'd', 'c', 'b', 'a'].map((name, index) => work(name, { since: NOW - Math.floor(index / 2) }))
  })

  test('the first page of /debug/stuck begins with the object that has waited longest', async () => {
    expect(namesOf(await ask())).toEqual(['a', 'b', 'c', 'd', 'e'])
    expect((await ask()).continue).toBeUndefined()
  })

  test('each page of /debug/stuck continues after the previous page, even if objects were added or removed', async () => {
    const first = await ask({ limit: '2' })
    expect([namesOf(first), first.total]).toEqual([['a', 'b'], 5])
    pending = [...pending.filter(({ key }) => key !== 'b'), work('f', { since: NOW + 1 })]
    const second = await ask({ limit: '2', continue: first.continue ?? '' })
    expect(namesOf(second)).toEqual(['c', 'd'])
    expect(namesOf(await ask({ limit: '2', continue: second.continue ?? '' }))).toEqual(['e', 'f'])
  })

  test('a page of /debug/stuck has 500 objects by default and at most 5000', async () => {
    pending = Array.from({ length: 6000 }, (_, index) => work(`${index}`))
    const queries = [{}, { limit: '700' }, { limit: '9999' }]
    const pages = await Promise.all(queries.map((query) => ask(query)))
    expect(pages.map(({ items }) => items.length)).toEqual([500, 700, 5000])
  })
})

test.each<[Record<string, string>, string]>([
  [{ limit: '0' }, 'limit "0" is no number above 0\n'],
  [{ limit: 'many' }, 'limit "many" is no number above 0\n'],
  [{ continue: 'x' }, 'continue is no token of an earlier answer\n'],
])('/debug/stuck refuses the query %j with one line', async (query, body) => {
  expect(await debugStuck({ backlog, limits, missingPermissions }, new URLSearchParams(query))).toMatchObject({
    status: 400,
    body,
  })
})

test('/debug/stuck returns 503 while the process starts', async () => {
  expect(await debugStuck({ backlog: undefined, limits, missingPermissions }, new URLSearchParams())).toMatchObject({
    status: 503,
    body: 'starting\n',
  })
})

import { systemClock } from '@csi-sidecars/base'
import { createKubeClient, flowOptions, loadClusterConfig, type OwnedKubeClient } from '@csi-sidecars/kube-client'
import { PERSISTENT_VOLUMES, type PersistentVolume } from '@csi-sidecars/kube-types'
import { silentLogger } from '@csi-sidecars/telemetry'
import { type RecordingLogger, recordingLogger } from '@csi-sidecars/telemetry/testing'
import { type Cluster, pv, startCluster } from '@csi-sidecars/testkit'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { type Cached, createInformer, type Informer } from './index.ts'

let cluster: Cluster
let client: OwnedKubeClient
let log: RecordingLogger
let informer: Informer<Cached, PersistentVolume>
let heard: string[]
let stop: AbortController
let done: Promise<void>

beforeEach(async () => {
  cluster = await startCluster()
  const env = {}
  const config = await loadClusterConfig({ kubeconfig: cluster.kubeconfig, env, log: silentLogger, clock: systemClock })
  client = createKubeClient({ config, flow: flowOptions({}), clock: systemClock, log: silentLogger, userAgent: 'test' })
  log = recordingLogger()
  heard = []
  stop = new AbortController()
})
afterEach(async () => {
  stop.abort(new Error('the test is over'))
  await done
  client.close()
  await cluster.stop()
})

function start(options: { pageSize?: number } = {}): void {
  informer = createInformer<PersistentVolume, Cached>({
    client,
    resource: PERSISTENT_VOLUMES,
    project: ({ metadata: { name = '', uid = '', resourceVersion = '' } = {} }) => ({
      key: name,
      uid,
      resourceVersion,
    }),
    resyncMs: 0,
    clock: systemClock,
    log,
    ...options,
  })
  informer.subscribe((event) =>
    heard.push(event.type === 'updated' ? `updated ${event.after.key}` : `${event.type} ${event.object.key}`),
  )
  done = informer.run(stop.signal)
}

async function until(condition: () => boolean): Promise<void> {
  for (let waited = 0; waited < 5000 && !condition(); waited += 2) await systemClock.sleep(2)
  expect(condition()).toBe(true)
}
const keys = (): string[] => [...informer.store.values()].map(({ key }) => key)
const requests = (verb: 'list' | 'watch'): number =>
  cluster.api.requests.entries.filter((entry) => entry.verb === verb).length
const label = (name: string): void => {
  cluster.api.update(PERSISTENT_VOLUMES, { name }, (old) => ({
    ...old,
    metadata: { ...old.metadata, labels: { changed: String(Math.floor(systemClock.now())) } },
  }))
}

describe('streaming lists', () => {
  test('the informer gets list and watch in one request if the server streams lists', async () => {
    cluster.add(pv('a'), pv('b'))
    start()
    await informer.store.whenSynced()
    expect(keys()).toEqual(['a', 'b'])
    cluster.add(pv('c'))
    label('a')
    cluster.api.delete(PERSISTENT_VOLUMES, { name: 'b' })
    await until(() => heard.length === 5)
    expect(heard).toEqual(['added a', 'added b', 'added c', 'updated a', 'deleted b'])
    expect([requests('list'), requests('watch')]).toEqual([0, 1])
  })

  test.each(['close', 'cut'] as const)(
    'a watch that ends (%s) is resumed without a list, and no change is lost',
    async (how) => {
      cluster.add(pv('a'))
      start()
      await informer.store.whenSynced()
      cluster.api.dropWatches({ how })
      cluster.add(pv('b'))
      await until(() => keys().length === 2)
      expect(heard).toEqual(['added a', 'added b'])
      const [, second] = cluster.api.requests.entries.filter(({ verb }) => verb === 'watch')
      expect(second?.query).toHaveProperty('resourceVersion')
      expect(second?.query).not.toHaveProperty('sendInitialEvents')
      expect(requests('list')).toBe(0)
    },
  )

  test('the informer lists again if the server has compacted the version, and reports missing objects as deleted', async () => {
    cluster.add(pv('a'), pv('b'), pv('c'))
    start()
    await informer.store.whenSynced()
    cluster.api.faults.add({
      match: { verb: 'watch' },
      times: 1,
      action: { kind: 'answer', code: 503, reason: 'ServiceUnavailable' },
    })
    cluster.api.dropWatches({ how: 'cut' })
    cluster.api.delete(PERSISTENT_VOLUMES, { name: 'b' })
    label('c')
    cluster.api.compact()
    await until(() => heard.length === 5)
    expect(heard.slice(3)).toEqual(['deleted b', 'updated c'])
    expect(keys()).toEqual(['a', 'c'])
  })

  test('the informer lists again if the server sends a watch frame that cannot be parsed', async () => {
    cluster.add(pv('a'))
    cluster.api.faults.add({
      match: { verb: 'watch' },
      times: 1,
      action: { kind: 'endWatch', afterFrames: 3, how: 'garbage' },
    })
    start()
    await informer.store.whenSynced()
    cluster.add(pv('b'), pv('c'))
    await until(() => keys().length === 3)
    expect(heard).toEqual(['added a', 'added b', 'added c'])
  })
})

describe('paged lists', () => {
  const refuse = (): void => {
    const action = { kind: 'answer', code: 422, reason: 'Invalid', message: 'sendInitialEvents is forbidden' } as const
    cluster.api.faults.add({ match: { verb: 'watch' }, times: 1, action })
  }

  test('if the server does not stream lists, the informer lists in pages and then watches', async () => {
    cluster.add(...Array.from({ length: 7 }, (_, at) => pv(`pv-${at}`)))
    refuse()
    start({ pageSize: 3 })
    await informer.store.whenSynced()
    expect(keys()).toHaveLength(7)
    expect(requests('list')).toBe(3)
    cluster.add(pv('late'))
    await until(() => keys().length === 8)
  })

  test('the informer requests the whole list in one response if a page token has expired', async () => {
    cluster.add(...Array.from({ length: 7 }, (_, at) => pv(`pv-${at}`)))
    refuse()
    cluster.api.faults.add({
      match: { verb: 'list' },
      skip: 1,
      times: 1,
      action: { kind: 'answer', code: 410, reason: 'Expired', message: 'The provided continue parameter is too old' },
    })
    start({ pageSize: 3 })
    await informer.store.whenSynced()
    expect(keys()).toHaveLength(7)
    const queries = cluster.api.requests.entries.filter(({ verb }) => verb === 'list').map(({ query }) => query)
    expect(queries.map(({ limit }) => limit)).toEqual(['3', '3', undefined])
  })
})

test('the informer caches twenty thousand objects, and reports each of them', async () => {
  cluster.add(...Array.from({ length: 20_000 }, (_, at) => pv(`pv-${at}`)))
  start()
  await informer.store.whenSynced()
  await until(() => heard.length === 20_000)
  expect(informer.store.size).toBe(20_000)
}, 60_000)

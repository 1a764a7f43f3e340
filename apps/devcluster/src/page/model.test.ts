import { CancelledError, type Clock, FakeClock, systemClock } from '@csi-sidecars/base'
import { EVENTS, NODES, PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES } from '@csi-sidecars/kube-types'
import { silentLogger } from '@csi-sidecars/telemetry'
import { describe, expect, it } from '@jest/globals'
import { addBoundVolume, attach, attachmentOn } from '../testing/bound-volume.ts'
import { claimOf, startTestCluster, type TestCluster } from '../testing/cluster.ts'
import { type Change, PageModel } from './model.ts'

interface Watched<C extends Clock> extends AsyncDisposable {
  readonly model: PageModel
  readonly changes: Change[]
  readonly clock: C
  /** Resolves with the first change that tells of an event. */
  readonly event: Promise<Change>
}

function watch(test: TestCluster): Watched<FakeClock>
function watch<C extends Clock>(test: TestCluster, clock: C): Watched<C>
function watch({ cluster }: TestCluster, clock: Clock = new FakeClock()): Watched<Clock> {
  const changes: Change[] = []
  const event = Promise.withResolvers<Change>()
  const life = new AbortController()
  const { caches, client } = cluster
  const tell = (change: Change): void => {
    changes.push(change)
    if (change.events !== undefined) event.resolve(change)
  }
  const model = new PageModel({ caches, client, clock, log: silentLogger, tell })
  const running = model.run(life.signal)
  return {
    model,
    changes,
    clock,
    event: event.promise,
    async [Symbol.asyncDispose]() {
      life.abort(new CancelledError('the test is over'))
      await running
    },
  }
}

const quietCluster = (): Promise<TestCluster> => startTestCluster({ controllers: [], standIns: [] })

describe("the page's model", () => {
  it('begins with what is there', async () => {
    await using test = await quietCluster()
    addBoundVolume(test)
    await test.untilCached(test.cluster.caches.volumes, 'pv-1', () => true)
    await test.untilCached(test.cluster.caches.claims, 'default/data', () => true)
    await using watched = watch(test)
    expect(watched.model.snapshot()).toMatchObject({
      nodes: [
        { name: 'node-1', ready: true },
        { name: 'node-2', ready: true },
      ],
      rows: [{ id: 'default/data', volume: 'pv-1', state: 'bound', cells: {} }],
    })
  })

  it('has one line for a claim and the volume that was made for it, before they are bound too', async () => {
    await using test = await quietCluster()
    const { claims, volumes } = test.cluster.caches
    const { metadata } = test.api.create(PERSISTENT_VOLUME_CLAIMS, claimOf('data'))
    test.api.create(PERSISTENT_VOLUMES, {
      metadata: { name: 'pv-1' },
      spec: { capacity: { storage: '1Gi' }, claimRef: { namespace: 'default', name: 'data', uid: metadata?.uid } },
    })
    await test.untilCached(volumes, 'pv-1', () => true)
    await test.untilCached(claims, 'default/data', () => true)
    await using watched = watch(test)
    expect(watched.model.snapshot().rows).toMatchObject([{ id: 'default/data', volume: 'pv-1', state: 'pending' }])
  })

  it('gathers changes, and tells only what looks different', async () => {
    await using test = await quietCluster()
    const { caches } = test.cluster
    addBoundVolume(test)
    await test.untilCached(caches.volumes, 'pv-1', () => true)
    await test.untilCached(caches.claims, 'default/data', () => true)
    await using watched = watch(test)
    watched.changes.length = 0
    attach(test, 'node-1')
    await test.untilCached(caches.attachments, attachmentOn('node-1').name, ({ attached }) => attached)
    await test.untilCached(caches.nodes, 'node-1', ({ volumesAttached }) => volumesAttached.length === 1)
    test.api.update(PERSISTENT_VOLUMES, { name: 'pv-1' }, (pv) => ({
      ...pv,
      metadata: { ...pv.metadata, labels: { a: 'b' } },
    }))
    await test.untilCached(caches.volumes, 'pv-1', ({ labels }) => labels['a'] === 'b')
    expect(watched.changes).toEqual([])
    await watched.clock.advance(100)
    expect(watched.changes).toMatchObject([
      { rows: [{ id: 'default/data', cells: { 'node-1': { state: 'attached' } } }] },
    ])
    test.api.update(PERSISTENT_VOLUMES, { name: 'pv-1' }, (pv) => ({
      ...pv,
      metadata: { ...pv.metadata, labels: { a: 'c' } },
    }))
    await test.untilCached(caches.volumes, 'pv-1', ({ labels }) => labels['a'] === 'c')
    await watched.clock.advance(100)
    expect(watched.changes).toHaveLength(1)
  })

  it('tells of what is gone, of nodes and of events', async () => {
    await using test = await quietCluster()
    const { caches } = test.cluster
    test.api.create(PERSISTENT_VOLUME_CLAIMS, claimOf('data'))
    await test.untilCached(caches.claims, 'default/data', () => true)
    await using watched = watch(test)
    const gone = new Promise<void>((resolve) => caches.claims.subscribe(({ type }) => type === 'deleted' && resolve()))
    test.api.delete(PERSISTENT_VOLUME_CLAIMS, { namespace: 'default', name: 'data' })
    await gone
    test.api.update(NODES, { name: 'node-2' }, (node) => ({
      ...node,
      status: { conditions: [{ type: 'Ready', status: 'False' }] },
    }))
    await test.untilCached(caches.nodes, 'node-2', ({ ready }) => !ready)
    watched.changes.length = 0
    await watched.clock.advance(100)
    expect(watched.changes).toMatchObject([{ gone: ['default/data'], nodes: [{}, { name: 'node-2', ready: false }] }])
  })

  it('tells of an event', async () => {
    await using test = await quietCluster()
    await using watched = watch(test, systemClock)
    await test.api.requests.until({ verb: 'watch', resource: 'events' })
    test.api.create(EVENTS, {
      metadata: { name: 'e', namespace: 'default' },
      involvedObject: { kind: 'Pod', name: 'app', namespace: 'default' },
      type: 'Warning',
      reason: 'FailedMount',
      message: 'no',
    })
    const told = { about: 'pod/app', type: 'Warning', reason: 'FailedMount', message: 'no' }
    expect((await watched.event).events).toMatchObject([told])
    expect(watched.model.snapshot().events).toMatchObject([{ ...told, count: 1 }])
  })

  it('tells of an event that happens again as one that counts', async () => {
    await using test = await quietCluster()
    await using watched = watch(test, systemClock)
    await test.api.requests.until({ verb: 'watch', resource: 'events' })
    const involvedObject = { kind: 'Pod', name: 'app', namespace: 'default' }
    const ref = { name: 'e', namespace: 'default' }
    test.api.create(EVENTS, { metadata: ref, involvedObject, message: 'no' })
    await watched.event
    test.api.update(EVENTS, ref, (event) => ({ ...event, count: 2 }))
    while (watched.model.snapshot().events[0]?.count !== 2) await systemClock.sleep(5)
    expect(watched.model.snapshot().events).toHaveLength(1)
  })
})

import { FakeClock } from '@csi-sidecars/base/testing'
import { createRecorder } from '@csi-sidecars/events'
import type { InformerEvent } from '@csi-sidecars/informer'
import { EVENTS, NODES, PODS, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { silentLogger } from '@csi-sidecars/telemetry'
import {
  attachDetachController,
  type CachedNode,
  type Caches,
  uniqueVolumeName,
} from '@csi-sidecars/volume-controllers'
import { describe, expect, it, jest } from '@jest/globals'
import { Controllers } from '../../src/cluster/controllers.ts'
import { attachedTo1, deletes, isAttached, ON_1, ON_2, removePod } from '../../src/testing/attach-detach.ts'
import { addBoundVolume, setInUse, VOLUME, VOLUME_NAME } from '../../src/testing/bound-volume.ts'
import { podOf, startTestCluster, type TestCluster } from '../../src/testing/cluster.ts'

jest.setTimeout(20_000)

/** Starts the attach/detach controller with a clock that only the test advances. */
function startOnFakeClock({ cluster }: TestCluster, caches: Caches = cluster.caches) {
  const clock = new FakeClock()
  const { client } = cluster
  const recorder = createRecorder({ client, component: 'attachdetach-controller', clock, log: silentLogger })
  const deps = { client, caches, clock, recorder, log: silentLogger }
  const controllers = new Controllers(clock, (_name, error) => {
    throw error
  })
  controllers.start('attach-detach', () => [attachDetachController(deps)])
  return { clock, [Symbol.asyncDispose]: () => controllers.stopAll() }
}

/** Waits until the controller has read all pods, which its first timer shows. */
async function untilPodsRead(clock: FakeClock): Promise<void> {
  while (clock.pending === 0) await clock.settle()
}

describe('time-outs', () => {
  it('the attach/detach controller detaches by force from an unhealthy node that has not unmounted the volume for six minutes', async () => {
    await using test = await startTestCluster({ controllers: [], substitutes: ['csi-attacher'] })
    addBoundVolume(test)
    await using controller = startOnFakeClock(test)
    const { clock } = controller
    setInUse(test, 'node-1', [VOLUME_NAME])
    await attachedTo1(test)
    test.api.update(NODES, { name: 'node-1' }, ({ status, ...old }) => ({
      ...old,
      status: { ...status, conditions: [{ type: 'Ready', status: 'Unknown' }] },
    }))
    await test.untilCached(test.cluster.caches.nodes, 'node-1', ({ ready }) => !ready)
    await removePod(test, 'app')
    // A second pod needs the volume on another node. The event about this pod proves that the time-out has begun.
    test.api.create(PODS, podOf('next', 'node-2', 'data'))
    await test.api.requests.until({ verb: 'create', resource: 'events' }, { count: 2 })
    await clock.advance(6 * 60_000 - 1)
    expect(deletes(test)).toEqual([])
    await clock.advance(1)
    await test.untilGone(VOLUME_ATTACHMENTS, ON_1)
    await test.until(VOLUME_ATTACHMENTS, ON_2, isAttached)
  })

  it('a pod gets an event every two minutes while no attacher answers', async () => {
    await using test = await startTestCluster({ controllers: [], substitutes: [] })
    addBoundVolume(test)
    await using controller = startOnFakeClock(test)
    const { clock } = controller
    await untilPodsRead(clock)
    test.api.create(PODS, podOf('app', 'node-1', 'data'))
    await test.untilCached(test.cluster.caches.attachments, ON_1.name, () => true)
    const reported = (): readonly string[] =>
      test.api.list(EVENTS).map(({ message = '', count }) => `${count}: ${message}`)
    await clock.advance(2 * 60_000 - 1)
    expect(reported()).toEqual([])
    const why = `timed out waiting for external-attacher of ${VOLUME.driver} CSI driver to attach volume ${VOLUME.volumeHandle}`
    for (const count of [1, 2]) {
      await clock.advance(count === 1 ? 1 : 2 * 60_000)
      await test.api.requests.until({ resource: 'events' }, { count })
      expect(reported()).toEqual([`${count}: AttachVolume.Attach failed for volume "pv-1" : ${why}`])
    }
  })

  it('the attach/detach controller attaches within a minute for a pod whose watch event was lost', async () => {
    await using test = await startTestCluster({ controllers: [], substitutes: ['csi-attacher'] })
    addBoundVolume(test)
    const { caches } = test.cluster
    const { store } = caches.pods
    const pods = { ...caches.pods, store, ensureListedSince: async () => {}, subscribe: () => () => undefined }
    const deaf = { ...caches, pods }
    await using controller = startOnFakeClock(test, deaf)
    const { clock } = controller
    await untilPodsRead(clock)
    test.api.create(PODS, podOf('app', 'node-1', 'data'))
    await test.untilCached(caches.pods, 'default/app', () => true)
    await clock.advance(59_999)
    expect(test.api.list(VOLUME_ATTACHMENTS)).toEqual([])
    await clock.advance(1)
    await test.until(VOLUME_ATTACHMENTS, ON_1, isAttached)
  })
})

/** Returns a cache of nodes in which the test can freeze one node. Only `recordEvent` changes a frozen node. */
function lateNodes(real: Caches['nodes']) {
  const handlers = new Set<(event: InformerEvent<CachedNode>) => void>()
  let buffered: CachedNode | undefined
  real.subscribe((event) => {
    if (buffered === undefined) for (const handler of handlers) handler(event)
  })
  const nodes: Caches['nodes'] = {
    ...real,
    store: { ...real.store, values: () => real.store.values(), get: (key) => buffered ?? real.store.get(key) },
    storeAnswer: (node) => real.storeAnswer(node),
    ensureListedSince: async () => {},
    subscribe(handler) {
      handlers.add(handler)
      return () => handlers.delete(handler)
    },
  }
  return {
    nodes,
    hold(name: string): void {
      buffered = real.store.get(name)
    },
    recordEvent(change: Partial<CachedNode>): void {
      if (buffered === undefined) throw new Error('nothing is held')
      const before = buffered
      buffered = { ...buffered, ...change }
      for (const handler of handlers) handler({ type: 'updated', before, after: buffered, origin: 'change' })
    },
  }
}

describe('late cache', () => {
  it('an outdated node cache does not block the detach of a second volume', async () => {
    await using test = await startTestCluster({ controllers: [], substitutes: ['csi-attacher'] })
    addBoundVolume(test)
    addBoundVolume(test, { claim: 'other', name: 'pv-2', volumeHandle: 'vol-2' })
    const late = lateNodes(test.cluster.caches.nodes)
    await using _controller = startOnFakeClock(test, { ...test.cluster.caches, nodes: late.nodes })
    const other = uniqueVolumeName({ ...VOLUME, volumeHandle: 'vol-2' })
    setInUse(test, 'node-1', [VOLUME_NAME, other])
    test.api.create(PODS, podOf('app', 'node-1', 'data'))
    test.api.create(PODS, podOf('app-2', 'node-1', 'other'))
    await test.until(NODES, { name: 'node-1' }, ({ status }) => status?.volumesAttached?.length === 2)
    await test.untilCached(test.cluster.caches.nodes, 'node-1', ({ volumesAttached }) => volumesAttached.length === 2)
    late.hold('node-1')
    await removePod(test, 'app')
    await removePod(test, 'app-2')
    setInUse(test, 'node-1', [])
    late.recordEvent({ volumesInUse: [other] })
    await test.untilGone(VOLUME_ATTACHMENTS, ON_1)
    late.recordEvent({ volumesInUse: [] })
    await test.untilAll(VOLUME_ATTACHMENTS, (attachments) => attachments.length === 0)
  })
})

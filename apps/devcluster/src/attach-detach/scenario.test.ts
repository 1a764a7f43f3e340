import { FakeClock } from '@csi-sidecars/base'
import { createRecorder } from '@csi-sidecars/events'
import type { InformerEvent } from '@csi-sidecars/informer'
import { NODES, PODS, VOLUME_ATTACHMENTS, type VolumeAttachment } from '@csi-sidecars/kube-types'
import { silentLogger } from '@csi-sidecars/telemetry'
import { describe, expect, it, jest } from '@jest/globals'
import type { Caches } from '../caches/caches.ts'
import type { CachedNode } from '../caches/node.ts'
import { addBoundVolume, attachmentOn, setInUse, VOLUME, VOLUME_NAME } from '../testing/bound-volume.ts'
import { inDefault, podOf, startTestCluster, type TestCluster } from '../testing/cluster.ts'
import { uniqueVolumeName } from '../volume-names.ts'
import { runAttachDetachController } from './controller.ts'

jest.setTimeout(20_000)

const ON_1 = attachmentOn('node-1')
const ON_2 = attachmentOn('node-2')

/** The controller alone, with an attacher, a bound claim, and nobody who mounts anything. */
async function attachDetachOnly(modes = ['ReadWriteOnce']): Promise<TestCluster> {
  const test = await startTestCluster({ controllers: ['attach-detach'], standIns: ['csi-attacher'] })
  addBoundVolume(test, { modes })
  return test
}

const isAttached = (va: VolumeAttachment | undefined): boolean => va?.status?.attached === true

/** Deletes a pod as a kubelet does at the end. */
async function removePod({ api, untilGone }: TestCluster, name: string): Promise<void> {
  api.update(PODS, inDefault(name), (old) => ({ ...old, status: { ...old.status, phase: 'Succeeded' } }))
  api.delete(PODS, inDefault(name))
  await untilGone(PODS, inDefault(name))
}

async function attachedTo1(test: TestCluster): Promise<void> {
  test.api.create(PODS, podOf('app', 'node-1', 'data'))
  await test.until(NODES, { name: 'node-1' }, (node) => node?.status?.volumesAttached?.[0]?.name === VOLUME_NAME)
}

const deletes = ({ api }: TestCluster) => api.requests.matching({ verb: 'delete', resource: 'volumeattachments' })

describe('the attach/detach controller', () => {
  it("attaches under the name that kubelet looks for, says so in the node's status and tells the pod", async () => {
    await using test = await attachDetachOnly()
    await attachedTo1(test)
    expect(test.api.get(VOLUME_ATTACHMENTS, ON_1)).toMatchObject({
      spec: { attacher: 'csi.example.com', nodeName: 'node-1', source: { persistentVolumeName: 'pv-1' } },
    })
    await test.api.requests.until({ verb: 'create', resource: 'events' })
    expect(test.events('app')).toEqual(['SuccessfulAttachVolume: AttachVolume.Attach succeeded for volume "pv-1" '])
  })

  it('attaches nothing for a pod that has ended, or that nobody has placed', async () => {
    await using test = await attachDetachOnly()
    test.api.create(PODS, { ...podOf('ended', 'node-1', 'data'), status: { phase: 'Failed' } })
    test.api.create(PODS, podOf('waiting', undefined, 'data'))
    test.api.create(PODS, podOf('app', 'node-2', 'data'))
    await test.until(VOLUME_ATTACHMENTS, ON_2, isAttached)
    expect(test.api.list(VOLUME_ATTACHMENTS)).toHaveLength(1)
  })

  it('does not detach what the node says it uses, and does so as soon as it says otherwise', async () => {
    await using test = await attachDetachOnly()
    setInUse(test, 'node-1', [VOLUME_NAME])
    await attachedTo1(test)
    await removePod(test, 'app')
    // Whoever comes next on another node proves that the controller has had its turn.
    test.api.create(PODS, podOf('next', 'node-2', 'data'))
    await test.api.requests.until({ verb: 'create', resource: 'events' }, { count: 2 })
    expect(deletes(test)).toEqual([])
    setInUse(test, 'node-1', [])
    await test.untilGone(VOLUME_ATTACHMENTS, ON_1)
    await test.until(VOLUME_ATTACHMENTS, ON_2, isAttached)
  })

  it('asks the API itself before it detaches: a node that began to use the volume keeps it', async () => {
    await using test = await attachDetachOnly()
    await attachedTo1(test)
    const held = test.api.faults.hold({ verb: 'get', resource: 'nodes' })
    const removed = removePod(test, 'app')
    await held.arrived
    // By now the status no longer says that the volume is attached: a kubelet that looks will not use it.
    expect(test.api.get(NODES, { name: 'node-1' })?.status?.volumesAttached ?? []).toEqual([])
    setInUse(test, 'node-1', [VOLUME_NAME])
    held.release()
    await removed
    test.api.create(PODS, podOf('next', 'node-2', 'data'))
    await test.api.requests.until({ verb: 'create', resource: 'events' }, { count: 2 })
    expect(deletes(test)).toEqual([])
    setInUse(test, 'node-1', [])
    await test.until(VOLUME_ATTACHMENTS, ON_2, isAttached)
  })

  it('tells a pod who has the volume that it waits for', async () => {
    await using test = await attachDetachOnly()
    setInUse(test, 'node-1', [VOLUME_NAME])
    await attachedTo1(test)
    test.api.create(PODS, podOf('next', 'node-2', 'data'))
    await test.api.requests.until({ verb: 'create', resource: 'events' }, { count: 2 })
    expect(test.events('next')).toEqual([
      'FailedAttachVolume: Multi-Attach error for volume "pv-1" Volume is already used by pod(s) app',
    ])
    expect(test.driver.log.matching({ method: 'ControllerPublishVolume', nodeId: 'node-2' })).toEqual([])
  })

  it('attaches a volume of many nodes to all of them', async () => {
    await using test = await attachDetachOnly(['ReadWriteMany'])
    await attachedTo1(test)
    test.api.create(PODS, podOf('next', 'node-2', 'data'))
    await test.until(VOLUME_ATTACHMENTS, ON_2, isAttached)
    expect(isAttached(test.api.get(VOLUME_ATTACHMENTS, ON_1))).toBe(true)
  })

  it('detaches by force from a node that is out of service', async () => {
    await using test = await attachDetachOnly()
    setInUse(test, 'node-1', [VOLUME_NAME])
    await attachedTo1(test)
    await removePod(test, 'app')
    const taint = { key: 'node.kubernetes.io/out-of-service', value: 'nodeshutdown', effect: 'NoExecute' }
    test.api.update(NODES, { name: 'node-1' }, (old) => ({ ...old, spec: { ...old.spec, taints: [taint] } }))
    await test.untilGone(VOLUME_ATTACHMENTS, ON_1)
  })

  it('detaches from a node that was deleted', async () => {
    await using test = await attachDetachOnly()
    await attachedTo1(test)
    test.api.delete(NODES, { name: 'node-1' })
    await removePod(test, 'app')
    await test.untilGone(VOLUME_ATTACHMENTS, ON_1)
  })

  it('tells the pod why its volume cannot be attached', async () => {
    await using test = await attachDetachOnly()
    test.driver.faults.add({ match: { method: 'ControllerPublishVolume' }, action: { do: 'fail', code: 'INTERNAL' } })
    test.api.create(PODS, podOf('app', 'node-1', 'data'))
    await test.until(VOLUME_ATTACHMENTS, ON_1, (va) => va !== undefined)
    const attachError = { message: 'rpc error: code = Internal desc = no', time: '2026-01-01T00:00:00Z' }
    test.api.update(VOLUME_ATTACHMENTS, ON_1, (old) => ({ ...old, status: { attached: false, attachError } }))
    await test.api.requests.until({ verb: 'create', resource: 'events' })
    expect(test.events('app')).toEqual([
      'FailedAttachVolume: AttachVolume.Attach failed for volume "pv-1" : rpc error: code = Internal desc = no',
    ])
  })

  it('makes an attachment again that somebody deleted under a running pod', async () => {
    await using test = await attachDetachOnly()
    await attachedTo1(test)
    const before = test.api.get(VOLUME_ATTACHMENTS, ON_1)?.metadata?.uid
    test.api.delete(VOLUME_ATTACHMENTS, ON_1)
    await test.until(VOLUME_ATTACHMENTS, ON_1, (va) => isAttached(va) && va?.metadata?.uid !== before)
  })

  it('attaches and detaches nothing twice because it was restarted', async () => {
    await using test = await attachDetachOnly()
    setInUse(test, 'node-1', [VOLUME_NAME])
    await attachedTo1(test)
    const { controllers } = test.cluster
    await controllers.restart('attach-detach')
    await controllers.restart('attach-detach')
    setInUse(test, 'node-1', [])
    await removePod(test, 'app')
    await test.untilGone(VOLUME_ATTACHMENTS, ON_1)
    const made = test.api.requests.matching({ verb: 'create', resource: 'volumeattachments' })
    expect([made.length, deletes(test).length]).toEqual([1, 1])
  })

  it('goes on where it was ended in the middle of an attach', async () => {
    await using test = await attachDetachOnly()
    const held = test.driver.faults.hold({ method: 'ControllerPublishVolume' })
    test.api.create(PODS, podOf('app', 'node-1', 'data'))
    await held.arrived
    await test.cluster.controllers.restart('attach-detach')
    held.release()
    await test.until(NODES, { name: 'node-1' }, (node) => node?.status?.volumesAttached?.[0]?.name === VOLUME_NAME)
    expect(test.api.requests.matching({ verb: 'create', resource: 'volumeattachments' })).toHaveLength(1)
  })

  it('hears of an attachment whose answer was lost, and makes no other', async () => {
    await using test = await attachDetachOnly()
    const lost = { verb: 'create', resource: 'volumeattachments' } as const
    test.api.faults.add({ match: lost, times: 1, action: { do: 'cut', applied: true } })
    await attachedTo1(test)
    expect(test.api.requests.matching(lost)).toHaveLength(1)
  })

  it('detaches what lost its pod while nobody was looking', async () => {
    await using test = await attachDetachOnly()
    await attachedTo1(test)
    const { controllers } = test.cluster
    await controllers.stop('attach-detach')
    await removePod(test, 'app')
    controllers.begin('attach-detach')
    await test.untilGone(VOLUME_ATTACHMENTS, ON_1)
    await test.until(NODES, { name: 'node-1' }, ({ status }) => (status?.volumesAttached ?? []).length === 0)
  })
})

/** The controller on a clock that stands still until the test moves it. */
function startOnFakeClock(test: TestCluster, caches: Caches = test.cluster.caches): FakeClock {
  const clock = new FakeClock()
  const { client, controllers } = test.cluster
  const recorder = createRecorder({ client, component: 'attachdetach-controller', clock, log: silentLogger })
  const parts = { client, caches, clock, recorder, log: silentLogger }
  controllers.start('attach-detach', (life) => runAttachDetachController(parts, life))
  return clock
}

describe('the attach/detach controller, as time goes by', () => {
  it('detaches by force what an unhealthy node has not unmounted after six minutes, and not before', async () => {
    await using test = await startTestCluster({ controllers: [], standIns: ['csi-attacher'] })
    addBoundVolume(test)
    const clock = startOnFakeClock(test)
    setInUse(test, 'node-1', [VOLUME_NAME])
    await attachedTo1(test)
    test.api.update(NODES, { name: 'node-1' }, ({ status, ...old }) => ({
      ...old,
      status: { ...status, conditions: [{ type: 'Ready', status: 'Unknown' }] },
    }))
    await test.untilCached(test.cluster.caches.nodes, 'node-1', ({ ready }) => !ready)
    await removePod(test, 'app')
    // Its volume is asked for elsewhere, and what the pod is told proves that the wait has begun.
    test.api.create(PODS, podOf('next', 'node-2', 'data'))
    await test.api.requests.until({ verb: 'create', resource: 'events' }, { count: 2 })
    await clock.advance(6 * 60_000 - 1)
    expect(deletes(test)).toEqual([])
    await clock.advance(1)
    await test.untilGone(VOLUME_ATTACHMENTS, ON_1)
    await test.until(VOLUME_ATTACHMENTS, ON_2, isAttached)
  })

  it('finds within a minute a pod of which no event has told', async () => {
    await using test = await startTestCluster({ controllers: [], standIns: ['csi-attacher'] })
    addBoundVolume(test)
    const { caches } = test.cluster
    const { store } = caches.pods
    const pods = { ...caches.pods, store, caughtUp: async () => {}, subscribe: () => () => undefined }
    const deaf = { ...caches, pods }
    const clock = startOnFakeClock(test, deaf)
    test.api.create(PODS, podOf('app', 'node-1', 'data'))
    await test.untilCached(caches.pods, 'default/app', () => true)
    await clock.advance(59_999)
    expect(test.api.list(VOLUME_ATTACHMENTS)).toEqual([])
    await clock.advance(1)
    await test.until(VOLUME_ATTACHMENTS, ON_1, isAttached)
  })
})

/** A cache that stands still for one node while it is held, and then hears what it is told. */
function lateNodes(real: Caches['nodes']) {
  const handlers = new Set<(event: InformerEvent<CachedNode>) => void>()
  let held: CachedNode | undefined
  real.subscribe((event) => {
    if (held === undefined) for (const handler of handlers) handler(event)
  })
  const nodes: Caches['nodes'] = {
    ...real,
    store: { ...real.store, values: () => real.store.values(), get: (key) => held ?? real.store.get(key) },
    learn: (node) => real.learn(node),
    caughtUp: async () => {},
    subscribe(handler) {
      handlers.add(handler)
      return () => handlers.delete(handler)
    },
  }
  return {
    nodes,
    hold(name: string): void {
      held = real.store.get(name)
    },
    tell(change: Partial<CachedNode>): void {
      if (held === undefined) throw new Error('nothing is held')
      const before = held
      held = { ...held, ...change }
      for (const handler of handlers) handler({ type: 'updated', before, after: held, cause: 'watch' })
    },
  }
}

describe("the attach/detach controller and a node's events that come late", () => {
  it('detaches what it has seen released while it asked about another volume', async () => {
    await using test = await startTestCluster({ controllers: [], standIns: ['csi-attacher'] })
    addBoundVolume(test)
    addBoundVolume(test, { claim: 'other', name: 'pv-2', volumeHandle: 'vol-2' })
    const late = lateNodes(test.cluster.caches.nodes)
    startOnFakeClock(test, { ...test.cluster.caches, nodes: late.nodes })
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
    late.tell({ volumesInUse: [other] })
    await test.untilGone(VOLUME_ATTACHMENTS, ON_1)
    late.tell({ volumesInUse: [] })
    await test.untilAll(VOLUME_ATTACHMENTS, (attachments) => attachments.length === 0)
  })
})

describe('a node whose kubelet attaches by itself', () => {
  it('is left alone until that changes', async () => {
    await using test = await attachDetachOnly()
    const annotate = (value: string): void => {
      const annotations = { 'volumes.kubernetes.io/controller-managed-attach-detach': value }
      test.api.update(NODES, { name: 'node-1' }, (old) => ({ ...old, metadata: { ...old.metadata, annotations } }))
    }
    annotate('false')
    await test.cluster.controllers.restart('attach-detach')
    await test.untilCached(test.cluster.caches.nodes, 'node-1', ({ managed }) => !managed)
    await test.cluster.controllers.restart('attach-detach')
    test.api.create(PODS, podOf('app', 'node-1', 'data'))
    test.api.create(PODS, podOf('next', 'node-2', 'data'))
    await test.until(VOLUME_ATTACHMENTS, ON_2, isAttached)
    expect(test.api.get(VOLUME_ATTACHMENTS, ON_1)).toBeUndefined()
    await removePod(test, 'next')
    annotate('true')
    await test.until(VOLUME_ATTACHMENTS, ON_1, isAttached)
  })
})

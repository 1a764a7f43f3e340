import { CSI_DRIVERS, PODS } from '@csi-sidecars/kube-types'
import { AttachDetachState, type AttachDetachStateOptions } from '@csi-sidecars/volume-controllers'
import { describe, expect, it } from '@jest/globals'
import {
  addBoundVolume,
  attach,
  attachmentOn,
  createAttachment,
  setAttached,
  setInUse,
  VOLUME,
  VOLUME_NAME,
} from '../../src/testing/bound-volume.ts'
import { inDefault, podOf, startTestCluster, type TestCluster } from '../../src/testing/cluster.ts'

/** Starts a cluster without controllers and with a bound volume in its caches. */
async function quietCluster(): Promise<TestCluster> {
  const test = await startTestCluster({ controllers: [], substitutes: [] })
  addBoundVolume(test)
  const { caches } = test.cluster
  await test.untilCached(caches.claims, 'default/data', ({ phase }) => phase === 'Bound')
  await test.untilCached(caches.volumes, 'pv-1', () => true)
  return test
}

type Behaviour = Omit<AttachDetachStateOptions, 'maxWaitForUnmountMs'>

const OF_137: Behaviour = { deletedNodeReleasesVolumes: false, detachesWithoutNeed: false }
const OF_138: Behaviour = { deletedNodeReleasesVolumes: true, detachesWithoutNeed: true }

const newState = ({ cluster }: TestCluster, behaviour = OF_137): AttachDetachState =>
  new AttachDetachState(cluster.caches, { maxWaitForUnmountMs: undefined, ...behaviour })

describe('restart', () => {
  it('the attach/detach controller takes attached volumes from the node status, even without an attachment', async () => {
    await using test = await quietCluster()
    setAttached(test, 'node-1', [VOLUME_NAME])
    setInUse(test, 'node-1', [VOLUME_NAME])
    await test.untilCached(test.cluster.caches.nodes, 'node-1', ({ volumesInUse }) => volumesInUse.length === 1)
    const state = newState(test)
    state.rebuild()
    expect(state.observe(VOLUME_NAME, 0).nodes).toMatchObject([
      { node: 'node-1', actual: { state: 'attached' }, inUse: true, isReported: true, pods: [], attachment: 'none' },
    ])
  })

  it('an attachment that no node status lists counts as uncertain after a restart', async () => {
    await using test = await quietCluster()
    attach(test, 'node-2')
    setAttached(test, 'node-2', [])
    await test.untilCached(test.cluster.caches.attachments, attachmentOn('node-2').name, () => true)
    await test.untilCached(test.cluster.caches.nodes, 'node-2', ({ volumesAttached }) => volumesAttached.length === 0)
    const state = newState(test)
    state.rebuild()
    expect([...state.volumeNames()]).toEqual([VOLUME_NAME])
    expect(state.observe(VOLUME_NAME, 0).nodes).toMatchObject([
      { node: 'node-2', actual: { state: 'uncertain' }, isReported: false, attachment: 'attached' },
    ])
  })
})

describe('restart after a loss', () => {
  it.each([
    ['1.37 may be in use by the machine', OF_137, true],
    ['1.38 is not in use', OF_138, false],
  ])('after a restart, an attachment of a deleted Node in Kubernetes %s', async (_version, behaviour, inUse) => {
    await using test = await quietCluster()
    createAttachment(test, 'node-9')
    await test.untilCached(test.cluster.caches.attachments, attachmentOn('node-9').name, () => true)
    const state = newState(test, behaviour)
    state.rebuild()
    expect(state.observe(VOLUME_NAME, 0).nodes).toMatchObject([
      { node: 'node-9', actual: { state: 'uncertain' }, inUse, health: 'gone' },
    ])
  })

  it.each([
    ['1.37 keeps', OF_137, []],
    ['1.38 detaches', OF_138, [VOLUME_NAME]],
  ])(
    'the controller of %s an unused attachment of a driver that needs no attach',
    async (_version, behaviour, expectedNames) => {
      await using test = await quietCluster()
      createAttachment(test, 'node-1')
      test.api.update(CSI_DRIVERS, { name: VOLUME.driver }, ({ spec, ...old }) => ({
        ...old,
        spec: { ...spec, attachRequired: false },
      }))
      const { caches } = test.cluster
      await test.untilCached(caches.drivers, VOLUME.driver, ({ attachRequired }) => !attachRequired)
      await test.untilCached(caches.attachments, attachmentOn('node-1').name, () => true)
      const state = newState(test, behaviour)
      state.rebuild()
      expect([...state.volumeNames()]).toEqual(expectedNames)
    },
  )
})

describe('AttachDetachState.deleteNode', () => {
  it.each([
    ['1.37 waits for its unmount', OF_137, true],
    ['1.38 counts its volumes as released', OF_138, false],
  ])('when a Node that uses a volume is deleted, the controller of %s', async (_version, behaviour, inUse) => {
    await using test = await quietCluster()
    setAttached(test, 'node-1', [VOLUME_NAME])
    setInUse(test, 'node-1', [VOLUME_NAME])
    const { nodes } = test.cluster.caches
    await test.untilCached(nodes, 'node-1', ({ volumesInUse }) => volumesInUse.length === 1)
    const state = newState(test, behaviour)
    state.rebuild()
    const node = nodes.store.get('node-1')
    expect(node && state.deleteNode(node)).toContain(VOLUME_NAME)
    expect(state.observe(VOLUME_NAME, 0).nodes).toMatchObject([{ node: 'node-1', inUse }])
  })
})

describe('AttachDetachState', () => {
  it('an attachment that the cache lacks counts as unknown while the request to create it is pending', async () => {
    await using test = await quietCluster()
    const { name } = attachmentOn('node-1')
    const state = newState(test)
    state.actual.markUncertain(VOLUME_NAME, 'node-1')
    const seen = (): unknown[] => state.observe(VOLUME_NAME, 0).nodes.map(({ attachment }) => attachment)
    expect(seen()).toEqual(['none'])
    state.attachmentRequested(name)
    expect(seen()).toEqual(['unknown'])
    state.attachmentSettled(name)
    expect(seen()).toEqual(['none'])
  })
})

describe('AttachDetachState.populate', () => {
  it('the check of all cached pods finds created and ended pods whose watch event was lost', async () => {
    await using test = await quietCluster()
    const { pods } = test.cluster.caches
    const state = newState(test)
    state.rebuild()
    test.api.create(PODS, podOf('app', 'node-1', 'data'))
    await test.untilCached(pods, 'default/app', () => true)
    expect(state.populate()).toEqual([VOLUME_NAME])
    expect(state.populate()).toEqual([])
    test.api.update(PODS, inDefault('app'), (pod) => ({ ...pod, status: { phase: 'Succeeded' } }))
    await test.untilCached(pods, 'default/app', ({ phase }) => phase === 'Succeeded')
    expect(state.populate()).toEqual([VOLUME_NAME])
    expect([...state.desired.nodesOf(VOLUME_NAME)]).toEqual([])
  })

  it('the check of all cached pods finds a pod that was recreated on another node', async () => {
    await using test = await quietCluster()
    const { pods } = test.cluster.caches
    test.api.create(PODS, podOf('app', 'node-1', 'data'))
    await test.untilCached(pods, 'default/app', () => true)
    const state = newState(test)
    state.rebuild()
    test.api.update(PODS, inDefault('app'), (pod) => ({ ...pod, status: { phase: 'Failed' } }))
    test.api.delete(PODS, inDefault('app'))
    test.api.create(PODS, podOf('app', 'node-2', 'data'))
    await test.untilCached(pods, 'default/app', ({ nodeName }) => nodeName === 'node-2')
    state.populate()
    expect([...state.desired.nodesOf(VOLUME_NAME)]).toEqual(['node-2'])
  })

  it('the check of all cached pods drops an attach if the driver no longer needs it', async () => {
    await using test = await quietCluster()
    const { pods, drivers } = test.cluster.caches
    test.api.create(PODS, podOf('app', 'node-1', 'data'))
    await test.untilCached(pods, 'default/app', () => true)
    const state = newState(test)
    state.rebuild()
    expect([...state.desired.nodesOf(VOLUME_NAME)]).toEqual(['node-1'])
    test.api.update(CSI_DRIVERS, { name: 'csi.example.com' }, (driver) => ({
      ...driver,
      spec: { ...driver.spec, attachRequired: false },
    }))
    await test.untilCached(drivers, 'csi.example.com', ({ attachRequired }) => !attachRequired)
    expect(state.populate()).toEqual([VOLUME_NAME])
    expect([...state.desired.nodesOf(VOLUME_NAME)]).toEqual([])
  })
})

import { CSI_DRIVERS, PODS } from '@csi-sidecars/kube-types'
import { AttachDetachState } from '@csi-sidecars/volume-controllers'
import { describe, expect, it } from '@jest/globals'
import {
  addBoundVolume,
  attach,
  attachmentOn,
  setAttached,
  setInUse,
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

const newState = ({ cluster }: TestCluster): AttachDetachState =>
  new AttachDetachState(cluster.caches, { maxWaitForUnmountMs: undefined })

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

import { CancelledError } from '@csi-sidecars/base'
import { FakeClock } from '@csi-sidecars/base/testing'
import { CSI_NODES, NODES } from '@csi-sidecars/kube-types'
import type { CacheRegistry } from '@csi-sidecars/sidecar'
import { recordingLogger } from '@csi-sidecars/telemetry/testing'
import { expect, it } from '@jest/globals'
import { FakeCluster } from '../testing/fake-cluster.ts'
import { FakeInformer } from '../testing/fake-informer.ts'
import { LocalNodeWatch } from './local-node.ts'

const DRIVER = { name: 'csi.x', nodeID: 'id', topologyKeys: ['x/node'] }

function scene() {
  const clock = new FakeClock()
  const log = recordingLogger()
  const cluster = new FakeCluster(clock)
  const selected: unknown[] = []
  const names: string[] = []
  const caches = {
    create: ({ resource, project, fieldSelector }) => {
      selected.push(`${resource.plural} ${fieldSelector}`)
      return new FakeInformer(cluster, resource, (object) => project(object, undefined as never))
    },
    add: ({ name }) => void names.push(name),
  } as Pick<CacheRegistry, 'create' | 'add'> as CacheRegistry
  const node = new LocalNodeWatch({ caches, nodeName: 'a', driverName: 'csi.x', clock, log })
  const putNode = (labels: Record<string, string>): unknown => cluster.store(NODES, { metadata: { name: 'a', labels } })
  const register = (...drivers: (typeof DRIVER)[]): unknown =>
    cluster.store(CSI_NODES, { metadata: { name: 'a' }, spec: { drivers } })
  return { clock, log, cluster, node, selected, names, putNode, register }
}

it('`whenKnown` waits until the CSINode lists the driver, and logs one line about the wait', async () => {
  const { clock, log, node, selected, names, putNode, register } = scene()
  expect([selected, names]).toEqual([
    ['nodes metadata.name=a', 'csinodes metadata.name=a'],
    ['Node a', 'CSINode a'],
  ])
  let isKnown = false
  const waiting = node.whenKnown(new AbortController().signal).then(() => {
    isKnown = true
  })
  putNode({ 'x/node': 'a' })
  register()
  await clock.advance(10_000)
  expect([isKnown, node.current]).toEqual([false, undefined])
  register({ ...DRIVER, name: 'other' }, DRIVER)
  await waiting
  expect(node.current).toEqual({ name: 'a', labels: { 'x/node': 'a' }, nodeId: 'id', topologyKeys: ['x/node'] })
  expect(log.lines.map(({ message }) => message)).toEqual(['Waiting for the node of this process'])
})

it('`whenKnown` logs that the Node is missing, and rejects when its signal is aborted', async () => {
  const { clock, log, node } = scene()
  const stop = new AbortController()
  const waiting = node.whenKnown(stop.signal)
  await clock.advance(10_000)
  expect(log.lines.map(({ pairs }) => pairs)).toEqual([{ node: 'a', driver: 'csi.x', missing: 'the Node' }])
  stop.abort(new CancelledError('SIGTERM'))
  await expect(waiting).rejects.toThrow('SIGTERM')
})

it('`onChange` reports changes of labels and of topology keys, and no other changes', () => {
  const { cluster, node, putNode, register } = scene()
  let changes = 0
  node.onChange(() => {
    changes += 1
  })
  putNode({ a: '1', b: '2' })
  register(DRIVER)
  putNode({ b: '2', a: '1' })
  // The kubelet removes the driver and registers it again.
  register()
  cluster.delete(CSI_NODES, { name: 'a' })
  expect([changes, node.current?.nodeId]).toEqual([0, 'id'])
  putNode({ a: '2' })
  register({ ...DRIVER, topologyKeys: [] })
  expect([changes, node.current]).toEqual([2, { name: 'a', labels: { a: '2' }, nodeId: 'id', topologyKeys: [] }])
})

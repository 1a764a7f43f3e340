import { deepStrictEqual as equal, ok } from 'node:assert'
import { CSI_NODES, NODES, PERSISTENT_VOLUME_CLAIMS } from '@csi-sidecars/kube-types'
import { refusal } from '../../harness/api/gate.ts'
import { createdVolume } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import { never } from '../../harness/waiting.ts'
import { calls, claimRef, createClaim, eventOf, GI, provision, provisioned, SELECTED_NODE, scene } from './scene.ts'

const test = testsOf('provisioner', 'failures')

test('a deleted claim is followed up while the creation may be running', async (t) => {
  const { driver } = await scene(t, {
    prepare: (each) => each.on('CreateVolume', (_, nth) => (nth === 0 ? { code: 4, message: 'slow' } : { reply: {} })),
  })
  const uid = await createClaim(t)
  await calls(driver, 'CreateVolume')
  await t.strip(PERSISTENT_VOLUME_CLAIMS, claimRef(t))
  await provisioned(t, uid)
})

test('a deleted claim is forgotten after a final answer', async (t) => {
  const { driver } = await scene(t, { prepare: (each) => each.on('CreateVolume', { code: 13, message: 'broken' }) })
  await createClaim(t)
  await eventOf(t, claimRef(t).name, 'rpc error: code = Internal desc = broken')
  await t.strip(PERSISTENT_VOLUME_CLAIMS, claimRef(t))
  const { length } = driver.callsOf('CreateVolume')
  await never('another call', () => driver.callsOf('CreateVolume').length > length + 1, 3_000)
})

test('ResourceExhausted with a selected node removes the node', async (t) => {
  const { driver } = await scene(t, {
    topology: true,
    class: { volumeBindingMode: 'WaitForFirstConsumer' },
    prepare: (each) => each.on('CreateVolume', { code: 8, message: 'full' }),
  })
  const node = t.name('node')
  await t.create(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: node, labels: { zone: 'z1' } } })
  await t.create(CSI_NODES, {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSINode',
    metadata: { name: node },
    spec: { drivers: [{ name: t.driverName, nodeID: node, topologyKeys: ['zone'] }] },
  })
  await createClaim(t, { annotations: { [SELECTED_NODE]: node } })
  const isFree = (annotations: Readonly<Record<string, string>> | undefined): boolean => !annotations?.[SELECTED_NODE]
  await t.api.until(PERSISTENT_VOLUME_CLAIMS, claimRef(t), ({ metadata }) => isFree(metadata?.annotations))
  await eventOf(t, claimRef(t).name, 'rpc error: code = ResourceExhausted desc = full')
  equal(driver.callsOf('CreateVolume').length, 1)
})

test('a volume that is too small is deleted', async (t) => {
  const { driver } = await scene(t, {
    prepare: (each) =>
      each.on('CreateVolume', ({ request }, nth) => ({
        reply: { volume: createdVolume(request, nth === 0 ? { capacityBytes: 5n } : {}) },
      })),
  })
  await provision(t)
  const [call] = driver.callsOf('DeleteVolume')
  ok(String(call?.request['volume_id']).startsWith('vol-'))
  await eventOf(t, claimRef(t).name, `created volume capacity 5 less than requested capacity ${GI}`)
})

test('an answer without a volume is an error', { only: 'ours' }, async (t) => {
  await scene(t, {
    prepare: (each) => each.on('CreateVolume', (_, nth) => ({ reply: nth === 0 ? { volume: undefined } : {} })),
  })
  const uid = await createClaim(t)
  await eventOf(t, claimRef(t).name, 'the CSI driver answered CreateVolume without a volume')
  await provisioned(t, uid)
})

test('a refused PersistentVolume is repeated without another call, and an event of the claim', {
  only: 'ours',
}, async (t) => {
  const { driver, sidecar } = await scene(t)
  const refused = sidecar.gate.inject('POST persistentvolumes', refusal(403, 'Forbidden', 'refused by a test'))
  const uid = await createClaim(t)
  await eventOf(t, claimRef(t).name, 'refused by a test')
  refused.end()
  await provisioned(t, uid)
  equal(driver.callsOf('CreateVolume').length, 1)
})

import { deepStrictEqual as equal, ok } from 'node:assert'
import { CSI_NODES, EVENTS, NODES, PERSISTENT_VOLUME_CLAIMS } from '@csi-sidecars/kube-types'
import { refusal } from '../../harness/api/gate.ts'
import type { TestContext } from '../../harness/context.ts'
import { createdVolume, type Driver } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, never, pause } from '../../harness/waiting.ts'
import {
  calls,
  claimRef,
  createClaim,
  createClass,
  eventOf,
  GI,
  provision,
  provisioned,
  SELECTED_NODE,
  scene,
} from './scene.ts'

const test = testsOf('provisioner', 'states')

/** The codes after which the creation may still be running. */
const BACKGROUND = { Canceled: 1, DeadlineExceeded: 4, Aborted: 10, Unavailable: 14 }
const FINAL = {
  Unknown: 2,
  InvalidArgument: 3,
  NotFound: 5,
  AlreadyExists: 6,
  PermissionDenied: 7,
  ResourceExhausted: 8,
  FailedPrecondition: 9,
  OutOfRange: 11,
  Unimplemented: 12,
  Internal: 13,
  DataLoss: 15,
  Unauthenticated: 16,
}

const touch = (t: TestContext, suffix = ''): Promise<unknown> =>
  t.api.merge(PERSISTENT_VOLUME_CLAIMS, claimRef(t, suffix), { metadata: { labels: { touched: `${Date.now()}` } } })

/** Counts the CreateVolume calls for a claim. */
function callsFor(driver: Driver, uid: string): number {
  return driver.callsOf('CreateVolume').filter(({ request }) => String(request['name']).endsWith(uid)).length
}

test('after a code that leaves the creation running, the creation is finished even for a deleted claim', async (t) => {
  const { driver } = await scene(t)
  for (const [name, code] of Object.entries(BACKGROUND)) {
    const suffix = `-${code}`
    driver.on('CreateVolume', { code, message: 'wait' })
    const uid = await createClaim(t, { suffix })
    await eventOf(t, claimRef(t, suffix).name, `rpc error: code = ${name} desc = wait`)
    await t.strip(PERSISTENT_VOLUME_CLAIMS, claimRef(t, suffix))
    driver.on('CreateVolume', { reply: {} })
    const pv = await provisioned(t, uid)
    equal(pv.spec?.claimRef?.name, claimRef(t, suffix).name)
  }
})

test('after a final code, a deleted claim is forgotten', async (t) => {
  const { driver } = await scene(t, { args: ['--retry-interval-start=2s'] })
  const uids: string[] = []
  for (const [name, code] of Object.entries(FINAL)) {
    const suffix = `-${code}`
    driver.on('CreateVolume', { code, message: 'no' })
    uids.push(await createClaim(t, { suffix }))
    const { type, reason } = await eventOf(t, claimRef(t, suffix).name, `rpc error: code = ${name} desc = no`)
    equal([type, reason], ['Warning', 'ProvisioningFailed'])
    await t.strip(PERSISTENT_VOLUME_CLAIMS, claimRef(t, suffix))
  }
  await pause(300)
  const counts = uids.map((uid) => callsFor(driver, uid))
  await pause(4_500)
  equal(
    uids.map((uid) => callsFor(driver, uid)),
    counts,
  )
})

test('an update of a claim causes a retry at once', async (t) => {
  const { driver } = await scene(t, { args: ['--retry-interval-start=1m'] })
  driver.on('CreateVolume', { code: 13, message: 'no' })
  const uid = await createClaim(t)
  await eventOf(t, claimRef(t).name, 'desc = no')
  driver.on('CreateVolume', { reply: {} })
  await touch(t)
  await provisioned(t, uid, 3_000)
})

test('retries wait twice as long each time', async (t) => {
  const { driver } = await scene(t, { args: ['--retry-interval-start=200ms', '--retry-interval-max=800ms'] })
  driver.on('CreateVolume', { code: 13, message: 'no' })
  await createClaim(t)
  const starts = (await calls(driver, 'CreateVolume', 6)).map(({ start }) => start)
  const gaps = starts.slice(1).map((start, index) => start - (starts[index] ?? 0))
  for (const [index, least] of [190, 390, 790, 790, 790].entries()) ok((gaps[index] ?? 0) >= least, gaps.join())
  ok((gaps[4] ?? 0) < 1_500, gaps.join())
})

test('a call that runs longer than --timeout is repeated', async (t) => {
  const { driver } = await scene(t, { args: ['--timeout=1s'] })
  driver.on('CreateVolume', (_, nth) => (nth === 0 ? 'hang' : { reply: {} }))
  const uid = await createClaim(t)
  await provisioned(t, uid)
  const text = 'rpc error: code = DeadlineExceeded desc = context deadline exceeded'
  await eventOf(t, claimRef(t).name, text)
})

test('ResourceExhausted without topology is a failure like any other', async (t) => {
  const { driver } = await scene(t)
  driver.on('CreateVolume', (_, nth) => (nth === 0 ? { code: 8, message: 'full' } : { reply: {} }))
  await provision(t)
  equal(driver.callsOf('CreateVolume').length, 2)
})

test('an infeasible claim does not block the other claims of its class', async (t) => {
  const { driver } = await scene(t)
  driver.on('CreateVolume', { code: 3, message: 'no' })
  await createClaim(t)
  await eventOf(t, claimRef(t).name, 'Retries will be delayed. rpc error: code = InvalidArgument desc = no')
  driver.on('CreateVolume', { reply: {} })
  await provision(t, { suffix: '-two' })
  await never('another call', () => driver.callsOf('CreateVolume').length > 2, 1_500)
})

test('a claim that is recreated under its name gets a new volume', async (t) => {
  const { driver } = await scene(t)
  const first = await provision(t)
  await t.strip(PERSISTENT_VOLUME_CLAIMS, claimRef(t))
  const second = await provision(t)
  ok(first.metadata?.name !== second.metadata?.name)
  equal(driver.callsOf('CreateVolume').length, 2)
})

test('a claim that is being deleted is still provisioned', async (t) => {
  const { driver } = await scene(t)
  driver.on('CreateVolume', (_, nth) => (nth === 0 ? { code: 13, message: 'no' } : { reply: {} }))
  await t.create(PERSISTENT_VOLUME_CLAIMS, {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      ...claimRef(t),
      finalizers: ['example.com/mine'],
      annotations: { 'volume.kubernetes.io/storage-provisioner': t.driverName },
    },
    spec: {
      accessModes: ['ReadWriteOnce'],
      storageClassName: t.name('class'),
      resources: { requests: { storage: '1Gi' } },
    },
  })
  await calls(driver, 'CreateVolume')
  await t.api.delete(PERSISTENT_VOLUME_CLAIMS, claimRef(t))
  const { metadata } = await t.api.get(PERSISTENT_VOLUME_CLAIMS, claimRef(t))
  await provisioned(t, metadata?.uid ?? '')
})

test('the deletion of a volume that is too small is tried up to five times', async (t) => {
  const secret = await t.createSecret({ user: 'u' })
  const parameters = {
    'csi.storage.k8s.io/provisioner-secret-name': secret.name,
    'csi.storage.k8s.io/provisioner-secret-namespace': secret.namespace,
  }
  const { driver } = await scene(t, { class: { parameters } })
  driver.on('DeleteVolume', { code: 13, message: 'stays' })
  driver.on('CreateVolume', ({ request }, nth) => ({
    reply: { volume: createdVolume(request, nth === 0 ? { capacityBytes: 5n } : {}) },
  }))
  const uid = await createClaim(t)
  await provisioned(t, uid)
  const deletions = driver.callsOf('DeleteVolume')
  equal(
    deletions.map(({ request }) => request),
    Array.from({ length: 5 }, () => ({ volume_id: `vol-pvc-${uid}`, secrets: { user: 'u' } })),
  )
  const why = `created volume capacity 5 less than requested capacity ${GI}`
  const text = `${why}. Cleanup of volume pvc-${uid} failed, volume is orphaned: rpc error: code = Internal desc = stays`
  await eventOf(t, claimRef(t).name, text)
})

test('a failed write of the PersistentVolume is repeated without another CreateVolume call', async (t) => {
  const { driver, sidecar } = await scene(t)
  const refused = sidecar.gate.inject('POST persistentvolumes', refusal(500, 'InternalError', 'refused by a test'))
  const uid = await createClaim(t)
  await eventually('ten tries', () => refused.count >= 10, { within: 12_000 })
  await t.strip(PERSISTENT_VOLUME_CLAIMS, claimRef(t))
  refused.end()
  await provisioned(t, uid)
  equal(driver.callsOf('CreateVolume').length, 1)
})

test('the removal of the selected node is repeated after a conflict', async (t) => {
  const { driver, sidecar } = await scene(t, { topology: true, class: { volumeBindingMode: 'WaitForFirstConsumer' } })
  const conflict = sidecar.gate.inject('PUT persistentvolumeclaims', refusal(409, 'Conflict', 'changed'), { times: 2 })
  const annotations = { [SELECTED_NODE]: t.name('none') }
  await createClaim(t, { annotations })
  const node = t.name('none')
  await eventOf(
    t,
    claimRef(t).name,
    `failed to get selected CSINode ${node}: csinode.storage.k8s.io "${node}" not found`,
  )
  await t.api.until(PERSISTENT_VOLUME_CLAIMS, claimRef(t), ({ metadata }) => !metadata?.annotations?.[SELECTED_NODE])
  equal([conflict.count, driver.callsOf('CreateVolume').length], [2, 0])
})

test('a repeated failure causes only one event', { only: 'ours' }, async (t) => {
  const { driver } = await scene(t, { args: ['--retry-interval-start=100ms', '--retry-interval-max=200ms'] })
  driver.on('CreateVolume', { code: 13, message: 'no' })
  await createClaim(t)
  await calls(driver, 'CreateVolume', 8)
  await createClass(t, {}, 'another')
  const events = (await t.api.list(EVENTS, t.namespace)).filter(
    ({ involvedObject }) => involvedObject.name === claimRef(t).name,
  )
  equal(events.map(({ reason, count }) => [reason, count]).sort(), [
    ['Provisioning', 1],
    ['ProvisioningFailed', 1],
  ])
})

test('ResourceExhausted removes the selected node from the claim', async (t) => {
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

test('a forbidden write of the PersistentVolume causes an event of the claim and is repeated', {
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

test('at most --worker-threads claims are worked on at the same time', async (t) => {
  const { driver } = await scene(t, { args: ['--worker-threads=2'] })
  driver.on('CreateVolume', 'hang')
  for (let index = 0; index < 5; index += 1) await createClaim(t, { suffix: `-${index}` })
  await calls(driver, 'CreateVolume', 2)
  await never('a third call', () => driver.callsOf('CreateVolume').length > 2, 1_500)
})

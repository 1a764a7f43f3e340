import { deepStrictEqual as equal, ok } from 'node:assert'
import { PERSISTENT_VOLUME_CLAIMS, STORAGE_CLASSES } from '@csi-sidecars/kube-types'
import { refusal } from '../../harness/api/gate.ts'
import type { TestContext } from '../../harness/context.ts'
import { type Call, createdVolume, type FakeDriver } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import {
  afterLaterWork,
  calls,
  claimEvent,
  claimRef,
  createClaim,
  createClass,
  eventOf,
  GI,
  LATE,
  provision,
  provisionedVolume,
  SELECTED_NODE,
  scene,
  secretParameters,
  unselected,
} from '../../rows/provisioner/scene.ts'
import { createNodes } from './topology.ts'

const test = testsOf('provisioner', 'claims')

const createsOf = (all: readonly Call[]): readonly Call[] => all.filter(({ method }) => method === 'CreateVolume')

test('a claim gets a volume of the driver, a PersistentVolume and two events', async (t) => {
  const { driver } = await scene(t)
  const pv = await provision(t)
  const claim = await t.api.get(PERSISTENT_VOLUME_CLAIMS, claimRef(t))
  const { name: claimName = '', uid } = claim.metadata ?? {}
  const { annotations, finalizers = [] } = pv.metadata ?? {}
  equal(annotations, {
    'pv.kubernetes.io/provisioned-by': t.driverName,
    'volume.kubernetes.io/provisioner-deletion-secret-name': '',
    'volume.kubernetes.io/provisioner-deletion-secret-namespace': '',
  })
  ok(finalizers.includes('external-provisioner.volume.kubernetes.io/finalizer'))
  const { claimRef: ref, csi, capacity, accessModes, storageClassName, persistentVolumeReclaimPolicy } = pv.spec ?? {}
  equal([ref?.kind, ref?.name, ref?.namespace, ref?.uid], ['PersistentVolumeClaim', claimName, t.namespace, uid])
  equal([csi?.driver, csi?.volumeHandle], [t.driverName, `vol-pvc-${uid}`])
  ok(/^\d+-\d+-/.test(csi?.volumeAttributes?.['storage.kubernetes.io/csiProvisionerIdentity'] ?? ''))
  equal([capacity, accessModes], [{ storage: '1Gi' }, ['ReadWriteOnce']])
  equal([storageClassName, persistentVolumeReclaimPolicy], [t.name('class'), 'Delete'])
  const text = `External provisioner is provisioning volume for claim "${t.namespace}/${claimName}"`
  equal((await eventOf(t, claimName, text)).reason, 'Provisioning')
  const succeeded = await eventOf(t, claimName, `Successfully provisioned volume pvc-${uid}`)
  equal([succeeded.type, succeeded.reason], ['Normal', 'ProvisioningSucceeded'])
  ok(succeeded.source?.component?.startsWith(`${t.driverName}_`))
  equal(driver.callsOf('CreateVolume').length, 1)
})

test('the provisioner ignores claims and classes of other provisioners, and bound claims', async (t) => {
  const { driver } = await scene(t)
  await createClass(t, { provisioner: 'other.example.com' }, 'other')
  await createClaim(t, { suffix: '-other', annotations: { 'volume.kubernetes.io/storage-provisioner': 'other' } })
  await createClaim(t, { suffix: '-bound', spec: { volumeName: t.name('none') } })
  await createClaim(t, { suffix: '-class', spec: { storageClassName: t.name('other') } })
  await provision(t)
  equal(driver.callsOf('CreateVolume').length, 1)
})

test('a claim with late binding is provisioned when a node is selected', async (t) => {
  const { driver } = await scene(t, { class: LATE })
  const uid = await createClaim(t)
  equal(createsOf(await afterLaterWork(t, driver)), [])
  await t.api.merge(PERSISTENT_VOLUME_CLAIMS, claimRef(t), { metadata: { annotations: { [SELECTED_NODE]: 'n' } } })
  await provisionedVolume(t, uid)
})

test('the provisioner accepts the beta annotations for provisioner and class of a claim', async (t) => {
  const { sidecar } = await scene(t)
  const annotations = {
    'volume.kubernetes.io/storage-provisioner': undefined,
    'volume.beta.kubernetes.io/storage-provisioner': t.driverName,
    'volume.beta.kubernetes.io/storage-class': t.name('class'),
  }
  const pv = await provision(t, { annotations, spec: { storageClassName: undefined } })
  equal(pv.spec?.storageClassName, t.name('class'))
  // The label `class` of the metric is empty, because the metric ignores the beta annotation for the class.
  const { value } = await sidecar.metrics()
  equal(value('controller_persistentvolumeclaim_provision_total', { class: '', source: '' }), 1)
})

test('an infeasible claim is retried at once when its class is recreated', async (t) => {
  const { driver } = await scene(t)
  driver.on('CreateVolume', (_, nth) => (nth === 0 ? { code: 3, message: 'no' } : { reply: {} }))
  const uid = await createClaim(t)
  const infeasible =
    'Volume provisioning failed with infeasible error. Retries will be delayed. rpc error: code = InvalidArgument desc = no'
  await claimEvent(t, infeasible)
  await t.api.merge(PERSISTENT_VOLUME_CLAIMS, claimRef(t), { metadata: { labels: { touched: '1' } } })
  equal(createsOf(await afterLaterWork(t, driver)).length, 1)
  await t.api.delete(STORAGE_CLASSES, { name: t.name('class') })
  await createClass(t)
  if (!t.ours) await t.api.merge(PERSISTENT_VOLUME_CLAIMS, claimRef(t), { metadata: { labels: { touched: '2' } } })
  await provisionedVolume(t, uid)
})

test('an infeasible claim is retried after --retry-interval-max', { only: 'ours' }, async (t) => {
  const { driver } = await scene(t, { args: ['--retry-interval-max=1s'] })
  driver.on('CreateVolume', (_, nth) => (nth === 0 ? { code: 3, message: 'no' } : { reply: {} }))
  await provision(t)
  const [first, second] = await calls(driver, 'CreateVolume', 2)
  ok((second?.start ?? 0) - (first?.end ?? 0) >= 900)
})

const states = testsOf('provisioner', 'states')

/** The gRPC codes of CreateVolume after which the driver may still create the volume. */
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
function callsFor(driver: FakeDriver, uid: string): number {
  return driver.callsOf('CreateVolume').filter(({ request }) => String(request['name']).endsWith(uid)).length
}

states('if a gRPC code leaves the result open, CreateVolume is repeated even for a deleted claim', async (t) => {
  const { driver } = await scene(t)
  for (const [name, code] of Object.entries(BACKGROUND)) {
    const suffix = `-${code}`
    driver.on('CreateVolume', { code, message: 'wait' })
    const uid = await createClaim(t, { suffix })
    await claimEvent(t, `rpc error: code = ${name} desc = wait`, suffix)
    await t.strip(PERSISTENT_VOLUME_CLAIMS, claimRef(t, suffix))
    driver.on('CreateVolume', { reply: {} })
    const pv = await provisionedVolume(t, uid)
    equal(pv.spec?.claimRef?.name, claimRef(t, suffix).name)
  }
})

states('after a final gRPC code, CreateVolume is not repeated for a deleted claim', async (t) => {
  const { driver } = await scene(t, { args: ['--retry-interval-start=2s'] })
  const uids: string[] = []
  for (const [name, code] of Object.entries(FINAL)) {
    const suffix = `-${code}`
    driver.on('CreateVolume', { code, message: 'no' })
    uids.push(await createClaim(t, { suffix }))
    const { type, reason } = await claimEvent(t, `rpc error: code = ${name} desc = no`, suffix)
    equal([type, reason], ['Warning', 'ProvisioningFailed'])
    const ref = claimRef(t, suffix)
    await t.remove(PERSISTENT_VOLUME_CLAIMS, ref, () => t.strip(PERSISTENT_VOLUME_CLAIMS, ref))
  }
  const counts = (): readonly number[] => uids.map((uid) => callsFor(driver, uid))
  const before = counts()
  // The second try of a later claim comes after a second try of any earlier claim.
  const alive = await createClaim(t)
  await eventually('a second try for a later claim', () => callsFor(driver, alive) >= 2)
  equal(counts(), before)
})

states('an update of a claim whose CreateVolume failed causes a retry at once', async (t) => {
  const { driver } = await scene(t, { args: ['--retry-interval-start=1m'] })
  driver.on('CreateVolume', { code: 13, message: 'no' })
  const uid = await createClaim(t)
  await claimEvent(t, 'desc = no')
  driver.on('CreateVolume', { reply: {} })
  await touch(t)
  await provisionedVolume(t, uid)
})

states('the back-off of a failing CreateVolume doubles with each retry', async (t) => {
  const { driver } = await scene(t, { args: ['--retry-interval-start=200ms', '--retry-interval-max=800ms'] })
  driver.on('CreateVolume', { code: 13, message: 'no' })
  await createClaim(t)
  const starts = (await calls(driver, 'CreateVolume', 6)).map(({ start }) => start)
  const gaps = starts.slice(1).map((start, index) => start - (starts[index] ?? 0))
  for (const [index, least] of [190, 390, 790, 790, 790].entries()) ok((gaps[index] ?? 0) >= least, gaps.join())
  ok(Math.min(...gaps.slice(3)) < 1_500, gaps.join())
})

states('a CreateVolume call that runs longer than --timeout ends and is repeated', async (t) => {
  const { driver } = await scene(t, { args: ['--timeout=1s'] })
  driver.on('CreateVolume', (_, nth) => (nth === 0 ? 'hang' : { reply: {} }))
  const uid = await createClaim(t)
  await provisionedVolume(t, uid)
  const text = 'rpc error: code = DeadlineExceeded desc = context deadline exceeded'
  await claimEvent(t, text)
})

states('ResourceExhausted from a driver without topology is retried like any other error', async (t) => {
  const { driver } = await scene(t)
  driver.on('CreateVolume', (_, nth) => (nth === 0 ? { code: 8, message: 'full' } : { reply: {} }))
  await provision(t)
  equal(driver.callsOf('CreateVolume').length, 2)
})

states('an infeasible claim does not block the other claims of its class', async (t) => {
  const { driver } = await scene(t)
  driver.on('CreateVolume', { code: 3, message: 'no' })
  await createClaim(t)
  await claimEvent(t, 'Retries will be delayed. rpc error: code = InvalidArgument desc = no')
  driver.on('CreateVolume', { reply: {} })
  await provision(t, { suffix: '-two' })
  equal(createsOf(await afterLaterWork(t, driver)).length, 2)
})

states('a claim that is recreated under its name gets a new volume', async (t) => {
  const { driver } = await scene(t)
  const first = await provision(t)
  await t.strip(PERSISTENT_VOLUME_CLAIMS, claimRef(t))
  const second = await provision(t)
  ok(first.metadata?.name !== second.metadata?.name)
  equal(driver.callsOf('CreateVolume').length, 2)
})

states('a claim that is being deleted is still provisioned', async (t) => {
  const { driver } = await scene(t)
  driver.on('CreateVolume', (_, nth) => (nth === 0 ? { code: 13, message: 'no' } : { reply: {} }))
  const uid = await createClaim(t, { finalizers: ['example.com/mine'] })
  await calls(driver, 'CreateVolume')
  await t.api.delete(PERSISTENT_VOLUME_CLAIMS, claimRef(t))
  await provisionedVolume(t, uid)
})

states('a new volume that is too small is deleted, with up to five DeleteVolume calls', async (t) => {
  const secret = await t.createSecret({ user: 'u' })
  const { driver } = await scene(t, { class: { parameters: secretParameters('provisioner-', secret) } })
  driver.on('DeleteVolume', { code: 13, message: 'stays' })
  driver.on('CreateVolume', ({ request }, nth) => ({
    reply: { volume: createdVolume(request, nth === 0 ? { capacityBytes: 5n } : {}) },
  }))
  const uid = await createClaim(t)
  await provisionedVolume(t, uid)
  equal(driver.requestsOf('DeleteVolume'), Array(5).fill({ volume_id: `vol-pvc-${uid}`, secrets: { user: 'u' } }))
  const why = `created volume capacity 5 less than requested capacity ${GI}`
  const text = `${why}. Cleanup of volume pvc-${uid} failed, volume is orphaned: rpc error: code = Internal desc = stays`
  await claimEvent(t, text)
})

states('a failed write of the PersistentVolume is repeated without another CreateVolume call', async (t) => {
  const { driver, sidecar } = await scene(t)
  const refused = sidecar.gate.inject('POST persistentvolumes', refusal(500, 'InternalError', 'refused by a test'))
  const uid = await createClaim(t)
  await eventually('ten tries', () => refused.count >= 10)
  if (t.ours) await claimEvent(t, 'refused by a test')
  await t.strip(PERSISTENT_VOLUME_CLAIMS, claimRef(t))
  refused.end()
  await provisionedVolume(t, uid)
  equal(driver.callsOf('CreateVolume').length, 1)
})

states('a claim loses its selected node if the CSINode of the node is missing', async (t) => {
  const { driver, sidecar } = await scene(t, { topology: true, class: LATE })
  const conflict = sidecar.gate.inject('PUT persistentvolumeclaims', refusal(409, 'Conflict', 'changed'), { times: 2 })
  const node = t.name('none')
  await createClaim(t, { annotations: { [SELECTED_NODE]: node } })
  const text = `failed to get selected CSINode ${node}: csinode.storage.k8s.io "${node}" not found`
  equal((await claimEvent(t, text)).message, text)
  await unselected(t)
  equal(createsOf(await afterLaterWork(t, driver)), [])
  equal(conflict.count, 2)
})

states('ResourceExhausted removes the selected node from the claim', async (t) => {
  await createNodes(t, { node: { keys: ['zone'], labels: { zone: 'z1' } } })
  const { driver } = await scene(t, { topology: true, class: LATE })
  driver.on('CreateVolume', { code: 8, message: 'full' })
  await createClaim(t, { annotations: { [SELECTED_NODE]: t.name('node') } })
  await unselected(t)
  await claimEvent(t, 'rpc error: code = ResourceExhausted desc = full')
  equal(driver.callsOf('CreateVolume').length, 1)
})

states('the provisioner processes at most --worker-threads claims at the same time', async (t) => {
  const { driver } = await scene(t, { args: ['--worker-threads=2'] })
  driver.on('CreateVolume', { reply: {}, after: 500 })
  const uids = await Promise.all([0, 1, 2, 3, 4].map((index) => createClaim(t, { suffix: `-${index}` })))
  for (const uid of uids) await provisionedVolume(t, uid)
  const all = driver.callsOf('CreateVolume')
  const runningAt = (time: number): number =>
    all.filter(({ start, end = Number.POSITIVE_INFINITY }) => start <= time && end > time).length
  equal(Math.max(...all.map(({ start }) => runningAt(start))), 2)
})

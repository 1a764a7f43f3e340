import { deepStrictEqual as equal, match } from 'node:assert'
import {
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  STORAGE_CLASSES,
  VOLUME_ATTACHMENTS,
} from '@csi-sidecars/kube-types'
import { refusal } from '../../harness/api/gate.ts'
import type { TestContext } from '../../harness/context.ts'
import { testsOf } from '../../harness/test.ts'
import { never, pause } from '../../harness/waiting.ts'
import {
  calls,
  createClass,
  deleted,
  eventOf,
  FINALIZER,
  released,
  scene,
  secretParameters,
  setPhase,
} from './scene.ts'

const test = testsOf('provisioner', 'deletion')
const PROVISIONED_BY = 'pv.kubernetes.io/provisioned-by'
const MIGRATED_TO = 'pv.kubernetes.io/migrated-to'
const OTHER = 'other.example.com'

const deletionSecret = ({ name, namespace }: { name: string; namespace: string }): object => ({
  'volume.kubernetes.io/provisioner-deletion-secret-name': name,
  'volume.kubernetes.io/provisioner-deletion-secret-namespace': namespace,
})

/** Creates a volume that the driver has provisioned, with this policy and these finalizers. Returns its name. */
function createOwned(
  t: TestContext,
  finalizers: readonly string[] = [],
  persistentVolumeReclaimPolicy: 'Delete' | 'Retain' = 'Delete',
): Promise<string> {
  const metadata = { annotations: { [PROVISIONED_BY]: t.driverName }, finalizers }
  return t.createVolume('pv', { metadata, persistentVolumeReclaimPolicy })
}

/** Waits until the volume has, or no longer has, the finalizer of the provisioner. */
async function untilFinalizer(t: TestContext, name: string, has: boolean): Promise<void> {
  const asExpected = ({ metadata }: PersistentVolume): boolean =>
    (metadata?.finalizers ?? []).includes(FINALIZER) === has
  await t.api.until(PERSISTENT_VOLUMES, { name }, asExpected)
}

test('a released volume is deleted at the driver once, and then its object', async (t) => {
  const { driver } = await scene(t)
  const secret = await t.createSecret({ user: 'u' })
  const name = await released(t, {
    annotations: deletionSecret(secret),
  })
  await deleted(t, name)
  const [call] = driver.callsOf('DeleteVolume')
  equal(call?.request, { volume_id: `${name}-handle`, secrets: { user: 'u' } })
  await pause(300)
  if (t.ours) equal(driver.callsOf('DeleteVolume').length, 1)
})

test('volumes that are retained or of other provisioners are kept', async (t) => {
  const { driver } = await scene(t)
  await released(t, { what: 'retained', spec: { persistentVolumeReclaimPolicy: 'Retain' } })
  await released(t, { what: 'foreign', annotations: { 'pv.kubernetes.io/provisioned-by': 'other.example.com' } })
  const name = await released(t)
  await deleted(t, name)
  const volumes = driver.fieldsOf('DeleteVolume', 'volume_id')
  equal([...new Set(volumes)], [`${name}-handle`])
})

test('the finalizer is added to bound volumes and removed from retained volumes', async (t) => {
  await scene(t)
  const name = await createOwned(t)
  await setPhase(t, name, 'Bound')
  await untilFinalizer(t, name, true)
  await t.api.merge(PERSISTENT_VOLUMES, { name }, { spec: { persistentVolumeReclaimPolicy: 'Retain' } })
  await untilFinalizer(t, name, false)
})

test('a released volume is deleted only after its last detach, which wakes the deletion', async (t) => {
  const { driver, sidecar } = await scene(t, {
    controller: ['PUBLISH_UNPUBLISH_VOLUME'],
    // The Go original waits for the end of the back-off.
    args: [`--retry-interval-start=${t.ours ? '1m' : '2s'}`],
  })
  await t.watching(sidecar, 'volumeattachments')
  const name = t.name('pv')
  for (const what of ['one', 'two']) await t.createAttachment(what, { pv: name, node: what })
  await pause(200)
  await released(t)
  const event = await eventOf(t, name, `persistentvolume ${name} is still attached to node `)
  equal([event.type, event.reason], ['Normal', 'VolumeDelete'])
  match(event.message ?? '', /(one|two), waiting for detach$/)
  equal(driver.callsOf('DeleteVolume').length, 0)
  for (const what of ['one', 'two']) await t.api.delete(VOLUME_ATTACHMENTS, { name: t.name(what) })
  await deleted(t, name, t.ours ? 2_500 : undefined)
})

test('a failed deletion causes an event and a retry', async (t) => {
  const { driver } = await scene(t)
  driver.on('DeleteVolume', (_, nth) => (nth === 0 ? { code: 5, message: 'who?' } : { reply: {} }))
  const name = await released(t)
  const { type, reason } = await eventOf(t, name, 'rpc error: code = NotFound desc = who?')
  equal([type, reason], ['Warning', 'VolumeFailedDelete'])
  await deleted(t, name)
  equal(driver.callsOf('DeleteVolume').length >= 2, true)
})

test('after SIGTERM, a running DeleteVolume call is finished and its result is saved', { only: 'ours' }, async (t) => {
  const { driver, sidecar } = await scene(t)
  driver.on('DeleteVolume', { reply: {}, after: 800 })
  const name = await released(t)
  await calls(driver, 'DeleteVolume')
  await sidecar.endBy('SIGTERM', 5_000)
  await deleted(t, name)
  equal(driver.callsOf('DeleteVolume').length, 1)
})

test('a PersistentVolume that is deleted while it is bound waits for its release', async (t) => {
  const { driver } = await scene(t)
  const name = await createOwned(t, [FINALIZER])
  await setPhase(t, name, 'Bound')
  await t.api.delete(PERSISTENT_VOLUMES, { name })
  await never('a call', () => driver.callsOf('DeleteVolume').length > 0, 500)
  await setPhase(t, name, 'Released')
  await deleted(t, name)
})

test('the annotations decide which provisioner owns a volume, and without them the CSI driver decides', async (t) => {
  const { driver } = await scene(t)
  const foreign = { csi: { driver: OTHER, volumeHandle: 'h' } }
  const cases: readonly (readonly [what: string, annotations: object, spec: object, ours: boolean])[] = [
    ['a', {}, {}, true],
    ['b', { [PROVISIONED_BY]: undefined }, {}, true],
    ['c', { [PROVISIONED_BY]: undefined }, foreign, false],
    ['d', { [PROVISIONED_BY]: OTHER }, {}, false],
    ['e', { [PROVISIONED_BY]: OTHER, [MIGRATED_TO]: t.driverName }, {}, true],
    ['f', {}, foreign, true],
    ['g', { [PROVISIONED_BY]: undefined, [MIGRATED_TO]: t.driverName }, foreign, false],
  ]
  for (const [what, annotations, spec] of cases) await released(t, { what, annotations, spec })
  for (const [what, , , ours] of cases) if (ours) await deleted(t, t.name(what))
  const handles = new Set(driver.fieldsOf('DeleteVolume', 'volume_id'))
  equal(handles, new Set(['a', 'b', 'e'].map((what) => `${t.name(what)}-handle`).concat('h')))
})

test('a deletion first calls the driver, then deletes the object and removes the finalizer', async (t) => {
  const { driver, sidecar } = await scene(t)
  const name = await released(t)
  await deleted(t, name)
  const [call] = driver.callsOf('DeleteVolume')
  const writes = (await sidecar.gate.settledWrites('persistentvolumes')).slice(0, 2)
  equal([writes[0]?.method, writes[1]?.method], ['DELETE', 'PATCH'])
  equal((writes[0]?.time ?? 0) >= (call?.end ?? Number.POSITIVE_INFINITY), true)
})

test('a volume without a CSI source causes an event', async (t) => {
  await scene(t)
  const name = await released(t, { spec: { csi: null, hostPath: { path: '/tmp' } } })
  const { type, reason } = await eventOf(t, name, 'invalid CSI PV')
  equal([type, reason], ['Warning', 'VolumeFailedDelete'])
})

test('without annotations, the class names the deletion Secret, by templates of the claim', async (t) => {
  const parameters = secretParameters('', { name: t.name(`for-\${pvc.name}`), namespace: `\${pvc.namespace}` })
  const { driver } = await scene(t, { class: { parameters } })
  await t.createSecret({ user: 'u' }, 'for-a')
  const spec = (claim: string): object => ({
    storageClassName: t.name('class'),
    claimRef: { namespace: t.namespace, name: claim, uid: '1' },
  })
  await deleted(t, await released(t, { what: 'secret', spec: spec('a') }))
  await deleted(t, await released(t, { what: 'no-secret', spec: spec('b') }))
  await t.api.delete(STORAGE_CLASSES, { name: t.name('class') })
  await deleted(t, await released(t, { what: 'no-class', spec: spec('a') }))
  const secrets = new Map(
    driver.callsOf('DeleteVolume').map(({ request }) => [request['volume_id'], request['secrets']]),
  )
  equal([...secrets.values()], [{ user: 'u' }, undefined, undefined])
  await createClass(t, {
    parameters: { ...parameters, 'csi.storage.k8s.io/secret-name': `\${pvc.annotations['x']}` },
  })
  const name = await released(t, { what: 'annotated', spec: spec('a') })
  const why = `error resolving value "\${pvc.annotations['x']}": invalid tokens: ["pvc.annotations['x']"]`
  await eventOf(t, name, `failed to get secretreference for volume ${name}: ${why}`)
})

test('a missing or incomplete deletion Secret does not block the deletion', async (t) => {
  const { driver, sidecar } = await scene(t)
  const annotations = deletionSecret({ name: 'none', namespace: t.namespace })
  const gone = await released(t, { what: 'gone', annotations })
  await deleted(t, gone)
  await deleted(t, await released(t, { what: 'half', annotations: deletionSecret({ name: 'none', namespace: '' }) }))
  equal(new Set(driver.fieldsOf('DeleteVolume', 'secrets')), new Set([undefined]))
  await sidecar.line(`failed to get credentials for volume ${gone}: error getting secret none in namespace default`)
})

test('volumes with the policy Retain lose the finalizer, even while they are being deleted', async (t) => {
  const { driver } = await scene(t)
  const finalizers = ['example.com/mine', FINALIZER]
  const name = await createOwned(t, finalizers, 'Retain')
  await untilFinalizer(t, name, false)
  const { metadata } = await t.api.get(PERSISTENT_VOLUMES, { name })
  equal(metadata?.finalizers?.includes('example.com/mine'), true)
  await t.api.merge(PERSISTENT_VOLUMES, { name }, { metadata: { finalizers } })
  await t.api.delete(PERSISTENT_VOLUMES, { name })
  await untilFinalizer(t, name, false)
  equal(driver.callsOf('DeleteVolume').length, 0)
})

test('a finalizer of another client keeps the object, and the driver is not called again', async (t) => {
  const { driver } = await scene(t)
  const name = await createOwned(t, [FINALIZER, 'example.com/mine'])
  await setPhase(t, name, 'Released')
  await deleted(t, name)
  await pause(300)
  const { length } = driver.callsOf('DeleteVolume')
  await t.api.merge(PERSISTENT_VOLUMES, { name }, { metadata: { labels: { touched: '1' } } })
  await never('another call', () => driver.callsOf('DeleteVolume').length > length, 500)
})

for (const kind of ['DELETE', 'PATCH'] as const) {
  test(`after a conflict, the ${kind} of a PersistentVolume is repeated`, async (t) => {
    const { driver, sidecar } = await scene(t, { args: ['--retry-interval-start=100ms'] })
    const refused = sidecar.gate.inject(`${kind} persistentvolumes`, refusal(409, 'Conflict', 'changed'), { times: 1 })
    await deleted(t, await released(t))
    equal([refused.count, t.ours ? driver.callsOf('DeleteVolume').length : 1], [1, 1])
  })
}

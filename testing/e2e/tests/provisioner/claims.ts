import { deepStrictEqual as equal, ok } from 'node:assert'
import { PERSISTENT_VOLUME_CLAIMS, STORAGE_CLASSES } from '@csi-sidecars/kube-types'
import type { TestContext } from '../../harness/context.ts'
import { createdVolume } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import { pause } from '../../harness/waiting.ts'
import { createTier } from '../resizer/scene.ts'
import {
  type ClaimParts,
  calls,
  claimEvent,
  claimRef,
  createClaim,
  createClass,
  eventOf,
  LATE,
  provision,
  provisioned,
  type SceneSetup,
  SELECTED_NODE,
  scene,
  secretParameters,
  setPhase,
} from './scene.ts'

const test = testsOf('provisioner', 'claims')

test('a claim gets a volume, two events and a PersistentVolume', async (t) => {
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

test('claims and classes of other provisioners, and bound claims, are left alone', async (t) => {
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
  await pause(300)
  equal(driver.callsOf('CreateVolume').length, 0)
  await t.api.merge(PERSISTENT_VOLUME_CLAIMS, claimRef(t), { metadata: { annotations: { [SELECTED_NODE]: 'n' } } })
  await provisioned(t, uid)
})

test('the beta annotations name provisioner and class', async (t) => {
  await scene(t)
  const annotations = {
    'volume.kubernetes.io/storage-provisioner': undefined,
    'volume.beta.kubernetes.io/storage-provisioner': t.driverName,
    'volume.beta.kubernetes.io/storage-class': t.name('class'),
  }
  const pv = await provision(t, { annotations, spec: { storageClassName: undefined } })
  equal(pv.spec?.storageClassName, t.name('class'))
})

test('an infeasible claim is retried at once when its class is recreated', async (t) => {
  const { driver } = await scene(t)
  driver.on('CreateVolume', (_, nth) => (nth === 0 ? { code: 3, message: 'no' } : { reply: {} }))
  const uid = await createClaim(t)
  const infeasible =
    'Volume provisioning failed with infeasible error. Retries will be delayed. rpc error: code = InvalidArgument desc = no'
  await claimEvent(t, infeasible)
  await t.api.merge(PERSISTENT_VOLUME_CLAIMS, claimRef(t), { metadata: { labels: { touched: '1' } } })
  await pause(500)
  equal(driver.callsOf('CreateVolume').length, 1)
  await t.api.delete(STORAGE_CLASSES, { name: t.name('class') })
  await createClass(t)
  if (!t.ours) await t.api.merge(PERSISTENT_VOLUME_CLAIMS, claimRef(t), { metadata: { labels: { touched: '2' } } })
  await provisioned(t, uid)
})

test('an infeasible claim is retried after --retry-interval-max', { only: 'ours' }, async (t) => {
  const { driver } = await scene(t, { args: ['--retry-interval-max=1s'] })
  driver.on('CreateVolume', (_, nth) => (nth === 0 ? { code: 3, message: 'no' } : { reply: {} }))
  await provision(t)
  const [first, second] = await calls(driver, 'CreateVolume', 2)
  ok((second?.start ?? 0) - (first?.end ?? 0) >= 900)
})

// The Go original does not wake claims early: it waits for the end of the back-off.
const wakes = testsOf('provisioner', 'wakes', { only: 'ours' })

const ARGS = ['--retry-interval-start=1m']
/** The promised second, and some more time for a busy machine. */
const SOON_MS = 2_500

interface Cause {
  readonly setup?: SceneSetup | ((t: TestContext) => SceneSetup)
  readonly spec?: (t: TestContext) => NonNullable<ClaimParts['spec']>
  /** The text of the event of the waiting claim. */
  readonly event?: string
  readonly come: (t: TestContext) => Promise<unknown>
}

const CAUSES: Readonly<Record<string, Cause>> = {
  'the class': { spec: (t) => ({ storageClassName: t.name('late') }), come: (t) => createClass(t, {}, 'late') },
  'the Secret': {
    setup: (t) => ({
      class: { parameters: secretParameters('provisioner-', { name: t.name('late'), namespace: t.namespace }) },
    }),
    event: 'error getting secret',
    come: (t) => t.createSecret({ a: 'b' }, 'late'),
  },
  'the VolumeAttributesClass': {
    setup: { controller: ['MODIFY_VOLUME'] },
    spec: (t) => ({ volumeAttributesClassName: t.name('gold') }),
    event: 'not found',
    come: (t) => createTier(t, 'gold'),
  },
  'the source claim': {
    setup: { controller: ['CLONE_VOLUME'] },
    spec: (t) => ({ dataSource: { kind: 'PersistentVolumeClaim', name: claimRef(t, '-source').name } }),
    event: 'error getting PVC',
    come: bindSource,
  },
}

async function bindSource(t: TestContext): Promise<void> {
  const { metadata } = await provision(t, { suffix: '-source' })
  const name = metadata?.name ?? ''
  await setPhase(t, name, 'Bound')
  const ref = claimRef(t, '-source')
  await t.api.merge(PERSISTENT_VOLUME_CLAIMS, ref, { spec: { volumeName: name } })
  await t.api.merge(PERSISTENT_VOLUME_CLAIMS, { ...ref, subresource: 'status' }, { status: { phase: 'Bound' } })
}

for (const [what, { setup = {}, spec = () => ({}), event, come }] of Object.entries(CAUSES)) {
  wakes(`${what} wakes the claims that wait for it`, async (t) => {
    const given = typeof setup === 'function' ? setup(t) : setup
    const { driver } = await scene(t, { ...given, args: ARGS })
    const contentSource = { type: { $case: 'volume', value: { volumeId: 'source' } } }
    driver.on('CreateVolume', ({ request }) => ({
      reply: { volume: createdVolume(request, request['volume_content_source'] ? { contentSource } : {}) },
    }))
    const uid = await createClaim(t, { spec: spec(t) })
    if (event === undefined) await pause(300)
    else await claimEvent(t, event)
    await come(t)
    await provisioned(t, uid, SOON_MS)
  })
}

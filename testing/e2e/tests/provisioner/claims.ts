import { deepStrictEqual as equal, ok } from 'node:assert'
import { PERSISTENT_VOLUME_CLAIMS, STORAGE_CLASSES } from '@csi-sidecars/kube-types'
import { testsOf } from '../../harness/test.ts'
import { pause } from '../../harness/waiting.ts'
import {
  calls,
  claimRef,
  createClaim,
  createClass,
  eventOf,
  provision,
  provisioned,
  SELECTED_NODE,
  scene,
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
  const { driver } = await scene(t, { class: { volumeBindingMode: 'WaitForFirstConsumer' } })
  const uid = await createClaim(t)
  await pause(300)
  equal(driver.callsOf('CreateVolume').length, 0)
  await t.api.merge(PERSISTENT_VOLUME_CLAIMS, claimRef(t), { metadata: { annotations: { [SELECTED_NODE]: 'n' } } })
  await provisioned(t, uid)
})

test('the beta annotations name provisioner and class', async (t) => {
  const { sidecar } = await scene(t)
  const annotations = {
    'volume.kubernetes.io/storage-provisioner': undefined,
    'volume.beta.kubernetes.io/storage-provisioner': t.driverName,
    'volume.beta.kubernetes.io/storage-class': t.name('class'),
  }
  const pv = await provision(t, { annotations, spec: { storageClassName: undefined } })
  equal(pv.spec?.storageClassName, t.name('class'))
  // The metrics name the class in the field only.
  const { value } = await sidecar.metrics()
  equal(value('controller_persistentvolumeclaim_provision_total', { class: '', source: '' }), 1)
})

test('an infeasible claim is retried at once when its class is recreated', async (t) => {
  const { driver } = await scene(t, {
    prepare: (each) => each.on('CreateVolume', (_, nth) => (nth === 0 ? { code: 3, message: 'no' } : { reply: {} })),
  })
  const uid = await createClaim(t)
  const infeasible =
    'Volume provisioning failed with infeasible error. Retries will be delayed. rpc error: code = InvalidArgument desc = no'
  await eventOf(t, claimRef(t).name, infeasible)
  await t.api.merge(PERSISTENT_VOLUME_CLAIMS, claimRef(t), { metadata: { labels: { touched: '1' } } })
  await pause(500)
  equal(driver.callsOf('CreateVolume').length, 1)
  await t.api.delete(STORAGE_CLASSES, { name: t.name('class') })
  await createClass(t)
  if (!t.ours) await t.api.merge(PERSISTENT_VOLUME_CLAIMS, claimRef(t), { metadata: { labels: { touched: '2' } } })
  await provisioned(t, uid)
})

test('an infeasible claim is retried after --retry-interval-max', { only: 'ours' }, async (t) => {
  const { driver } = await scene(t, {
    args: ['--retry-interval-max=1s'],
    prepare: (each) => each.on('CreateVolume', (_, nth) => (nth === 0 ? { code: 3, message: 'no' } : { reply: {} })),
  })
  await provision(t)
  const [first, second] = await calls(driver, 'CreateVolume', 2)
  ok((second?.start ?? 0) - (first?.end ?? 0) >= 900)
})

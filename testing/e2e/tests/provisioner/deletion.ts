import { deepStrictEqual as equal } from 'node:assert'
import { PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { testsOf } from '../../harness/test.ts'
import { never, pause } from '../../harness/waiting.ts'
import { calls, deleted, eventOf, FINALIZER, released, scene, setPhase } from './scene.ts'

const test = testsOf('provisioner', 'deletion')

test('a released volume is deleted at the driver once, and then its object', async (t) => {
  const { driver } = await scene(t)
  const secret = await t.createSecret({ user: 'u' })
  const name = await released(t, {
    annotations: {
      'volume.kubernetes.io/provisioner-deletion-secret-name': secret.name,
      'volume.kubernetes.io/provisioner-deletion-secret-namespace': secret.namespace,
    },
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
  const volumes = driver.callsOf('DeleteVolume').map(({ request }) => request['volume_id'])
  equal([...new Set(volumes)], [`${name}-handle`])
})

test('the finalizer is added to bound volumes and removed from retained ones', async (t) => {
  await scene(t)
  const metadata = { annotations: { 'pv.kubernetes.io/provisioned-by': t.driverName } }
  const name = await t.createVolume('pv', { metadata, persistentVolumeReclaimPolicy: 'Delete' })
  await setPhase(t, name, 'Bound')
  const has = (pv: { metadata?: { finalizers?: readonly string[] | undefined } | undefined }): boolean =>
    pv.metadata?.finalizers?.includes(FINALIZER) === true
  await t.api.until(PERSISTENT_VOLUMES, { name }, has)
  await t.api.merge(PERSISTENT_VOLUMES, { name }, { spec: { persistentVolumeReclaimPolicy: 'Retain' } })
  await t.api.until(PERSISTENT_VOLUMES, { name }, (pv) => !has(pv))
})

test('an attached volume waits for its detach', async (t) => {
  const { driver, sidecar } = await scene(t, {
    controller: ['PUBLISH_UNPUBLISH_VOLUME'],
    args: ['--retry-interval-start=2s'],
  })
  await t.watching(sidecar, 'volumeattachments')
  const name = t.name('pv')
  await t.createAttachment('va', { pv: name, node: 'n' })
  await pause(200)
  await released(t)
  const text = `persistentvolume ${name} is still attached to node n, waiting for detach`
  const { type, reason } = await eventOf(t, name, text)
  equal([type, reason], ['Normal', 'VolumeDelete'])
  equal(driver.callsOf('DeleteVolume').length, 0)
  await t.api.delete(VOLUME_ATTACHMENTS, { name: t.name('va') })
  await deleted(t, name)
})

test('a failed deletion is an event and is tried again', async (t) => {
  const { driver } = await scene(t, {
    prepare: (each) => each.on('DeleteVolume', (_, nth) => (nth === 0 ? { code: 5, message: 'who?' } : { reply: {} })),
  })
  const name = await released(t)
  const { type, reason } = await eventOf(t, name, 'rpc error: code = NotFound desc = who?')
  equal([type, reason], ['Warning', 'VolumeFailedDelete'])
  await deleted(t, name)
  equal(driver.callsOf('DeleteVolume').length >= 2, true)
})

test('SIGTERM waits for a running call and saves its result', { only: 'ours' }, async (t) => {
  const { driver, sidecar } = await scene(t, {
    prepare: (each) => each.on('DeleteVolume', { reply: {}, after: 800 }),
  })
  const name = await released(t)
  await calls(driver, 'DeleteVolume')
  await sidecar.endBy('SIGTERM', 5_000)
  await deleted(t, name)
  equal(driver.callsOf('DeleteVolume').length, 1)
})

test('a volume that is deleted first waits for its claim', async (t) => {
  const { driver } = await scene(t)
  const metadata = { annotations: { 'pv.kubernetes.io/provisioned-by': t.driverName }, finalizers: [FINALIZER] }
  const name = await t.createVolume('pv', { metadata, persistentVolumeReclaimPolicy: 'Delete' })
  await setPhase(t, name, 'Bound')
  await t.api.delete(PERSISTENT_VOLUMES, { name })
  await never('a call', () => driver.callsOf('DeleteVolume').length > 0, 500)
  await setPhase(t, name, 'Released')
  await deleted(t, name)
})

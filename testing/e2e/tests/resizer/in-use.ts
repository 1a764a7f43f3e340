import { deepStrictEqual as equal, ok } from 'node:assert'
import { NAMESPACES, PODS } from '@csi-sidecars/kube-types'
import { refusal } from '../../harness/api/gate.ts'
import { pod } from '../../harness/api/objects.ts'
import { ETCD_TIRED } from '../../harness/api/write-faults.ts'
import type { TestContext } from '../../harness/context.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, never, pause } from '../../harness/waiting.ts'
import {
  ask,
  bound,
  eventsOf,
  expands,
  grown,
  type ResizerScene,
  resized,
  type SceneSetup,
  scene,
  untilEvent,
  usedBy,
} from './scene.ts'

const test = testsOf('resizer', 'in use')

const OFFLINE_ONLY = { code: 9, message: 'in use' }
const EXPANDED = { reply: {} }

async function refusedOnce(t: TestContext, setup: SceneSetup = {}): Promise<ResizerScene> {
  const at = await scene(t, { args: ['--retry-interval-start=400ms', '--retry-interval-max=400ms'], ...setup })
  at.driver.on('ControllerExpandVolume', OFFLINE_ONLY)
  await bound(t)
  return at
}

const offline = (t: TestContext): string =>
  `Warning VolumeResizeFailed Unable to expand default/${t.name('pvc')} because CSI driver ${t.driverName} only supports offline expansion and volume is currently in-use`

test('FailedPrecondition while a pod uses the claim: no more calls, an event, until the pod is deleted', async (t) => {
  const at = await refusedOnce(t)
  await usedBy(t)
  await pause(300)
  await ask(t, '2Gi')
  await untilEvent(t, 'only supports offline expansion')
  ok((await eventsOf(t)).includes(offline(t)), `${await eventsOf(t)}`)
  await pause(500)
  const before = expands(at).length
  ok(before <= 2, `${before} calls`)
  await never('a call while it is in use', () => expands(at).length > before, 2000)
  at.driver.on('ControllerExpandVolume', EXPANDED)
  const gone = Date.now()
  await t.api.delete(PODS, { namespace: 'default', name: t.name('pod') })
  await resized(t, '2Gi')
  ok(Date.now() - gone < 3000)
})

test('a pod that ended does not count', async (t) => {
  const at = await refusedOnce(t)
  await usedBy(t)
  await t.api.merge(
    PODS,
    { namespace: 'default', name: t.name('pod'), subresource: 'status' },
    { status: { phase: 'Succeeded' } },
  )
  await pause(300)
  await ask(t, '2Gi')
  await eventually('more calls', () => expands(at).length >= 4)
})

test('a pod of another namespace or of another claim does not count', async (t) => {
  const at = await refusedOnce(t)
  await usedBy(t, 'pod', t.name('other'))
  await ask(t, '2Gi')
  await eventually('more calls', () => expands(at).length >= 4)
})

test('a claim that was not refused is expanded under its pods', async (t) => {
  const at = await scene(t)
  await bound(t)
  await usedBy(t)
  await pause(300)
  await ask(t, '2Gi')
  await resized(t, '2Gi')
  equal(expands(at).length, 1)
})

test('--handle-volume-inuse-error=false: pods are not read, the call is made at every retry', async (t) => {
  const args = ['--retry-interval-start=300ms', '--retry-interval-max=300ms', '--handle-volume-inuse-error=false']
  const at = await refusedOnce(t, { args })
  await usedBy(t)
  await ask(t, '2Gi')
  await eventually('more calls', () => expands(at).length >= 4)
  equal(at.resizer.gate.requestsOf('pods'), [])
})

test('the pod of a generic ephemeral volume counts', { only: 'ours' }, async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=400ms', '--retry-interval-max=400ms'] })
  at.driver.on('ControllerExpandVolume', OFFLINE_ONLY)
  const { pvc } = await bound(t, { suffix: '-x' })
  // A pod's ephemeral volume `v` has a claim named after both.
  equal(pvc, `${t.id}-pvc-x`)
  const volumeClaimTemplate = { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } }
  await t.create(PODS, pod('default', t.name('pvc'), [{ name: 'x', ephemeral: { volumeClaimTemplate } }]))
  await pause(300)
  await ask(t, '2Gi', pvc)
  await untilEvent(t, 'only supports offline expansion', pvc)
  await pause(500)
  const before = expands(at).length
  await never('a call while it is in use', () => expands(at).length > before, 1500)
})

test('no pod is read before a driver refuses; then one namespaced list', { only: 'ours' }, async (t) => {
  const at = await scene(t)
  await grown(t)
  const pods = () => at.resizer.gate.requestsOf('pods')
  equal(pods(), [])
  at.driver.on('ControllerExpandVolume', OFFLINE_ONLY)
  await usedBy(t)
  await ask(t, '3Gi')
  await untilEvent(t, 'VolumeResizeFailed')
  await eventually('a list of pods', () => pods().length > 0)
  equal([...new Set(pods().map(({ namespace }) => namespace))], ['default'])
})

test('without permission to list pods the driver decides at each retry', { only: 'ours' }, async (t) => {
  const at = await refusedOnce(t)
  at.resizer.gate.inject('* pods', refusal(403, 'Forbidden', 'pods is forbidden'))
  await usedBy(t)
  await ask(t, '2Gi')
  await eventually('more calls', () => expands(at).length >= 4)
  const warnings = at.resizer.lines.filter((line) => /^[WE]/.test(line) && line.includes('pods is forbidden'))
  equal(warnings.length, 1)
})

test('many waiting claims of a namespace need one list and one watch', { only: 'ours' }, async (t) => {
  const at = await refusedOnce(t)
  const suffixes = Array.from({ length: 20 }, (_, index) => `-${index}`)
  for (const suffix of suffixes) {
    const { pvc } = await bound(t, { suffix })
    await usedBy(t, `pod${suffix}`, pvc)
    await ask(t, '2Gi', pvc)
  }
  for (const suffix of suffixes) await untilEvent(t, 'only supports offline expansion', t.name(`pvc${suffix}`))
  await pause(3000)
  const pods = at.resizer.gate.requestsOf('pods')
  equal(pods.filter(({ watch }) => watch).length, 1)
  equal(pods.filter(({ watch }) => !watch).length, 1)
  equal(at.resizer.gate.openWatches('pods'), 1)
  at.driver.on('ControllerExpandVolume', EXPANDED)
  for (const suffix of suffixes) await t.api.delete(PODS, { namespace: 'default', name: t.name(`pod${suffix}`) })
  for (const suffix of suffixes) await resized(t, '2Gi', t.name(`pvc${suffix}`))
  await eventually('no watch of pods', () => at.resizer.gate.openWatches('pods') === 0)
})

test('waiting claims in twenty namespaces need one watch of all', { only: 'ours' }, async (t) => {
  const at = await refusedOnce(t)
  const namespaces = Array.from({ length: 20 }, (_, index) => t.name(`ns-${index}`))
  for (const namespace of namespaces) {
    await t.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
    const { pvc } = await bound(t, { namespace, suffix: `-${namespace}` })
    const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: pvc } }]
    await t.create(PODS, pod(namespace, t.name('pod'), volumes))
    await ask(t, '2Gi', `${namespace}/${pvc}`)
  }
  const { gate } = at.resizer
  const ofAll = () => gate.requests.filter(({ resource, namespace }) => resource === 'pods' && namespace === undefined)
  await eventually('one watch', () => ofAll().length === 2 && gate.openWatches('pods') === 1)
  await never('another request about pods', () => ofAll().length > 2 || gate.openWatches('pods') !== 1, 2000)
})

test('a volume that is still attached when its last pod has ended is expanded within seconds of its detach', {
  only: 'ours',
}, async (t) => {
  const args = ['--retry-interval-start=1s', '--retry-interval-max=5m']
  const at = await refusedOnce(t, { args })
  await usedBy(t)
  await ask(t, '2Gi')
  // The test waits for so many attempts that the next retry would be much later.
  await eventually('some tries', async () => at.resizer.linesWith('only supports offline expansion').length >= 4)
  await t.api.delete(PODS, { namespace: 'default', name: t.name('pod') })
  const ended = expands(at).length
  await eventually('calls while it is attached', () => expands(at).length >= ended + 3, { within: 8000 })
  at.driver.on('ControllerExpandVolume', EXPANDED)
  const detached = Date.now()
  await resized(t, '2Gi')
  ok(Date.now() - detached < 10_000, `${Date.now() - detached} ms`)
})

test('a claim keeps its wait for its pod when a try in between fails', { only: 'ours' }, async (t) => {
  const at = await refusedOnce(t, { args: ['--retry-interval-start=1s', '--retry-interval-max=5m'] })
  await usedBy(t)
  await ask(t, '2Gi')
  await untilEvent(t, 'only supports offline expansion')
  const failing = at.resizer.gate.inject('PATCH persistentvolumeclaims/status', ETCD_TIRED)
  await eventually('a try that fails', () => at.resizer.linesWith('etcd is tired').length > 0)
  failing.end()
  at.driver.on('ControllerExpandVolume', EXPANDED)
  const ended = Date.now()
  await t.api.delete(PODS, { namespace: 'default', name: t.name('pod') })
  await resized(t, '2Gi')
  ok(Date.now() - ended < 3000, `${Date.now() - ended} ms`)
})

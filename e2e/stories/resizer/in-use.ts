import { deepStrictEqual as equal, ok } from 'node:assert'
import { PODS } from '@csi-sidecars/kube-types'
import { pod } from '../../harness/objects.ts'
import { storiesOf } from '../../harness/story.ts'
import { eventually, never, pause } from '../../harness/waiting.ts'
import type { World } from '../../harness/world.ts'
import { ask, bound, eventsOf, expands, GI, resized, type Scene, type SceneSetup, scene, untilEvent } from './scene.ts'

const story = storiesOf('resizer', 'in use')

const OFFLINE_ONLY = { code: 9, message: 'in use' }
const EXPANDED = { reply: { capacityBytes: BigInt(2 * GI), nodeExpansionRequired: false } }

function usedBy(t: World, name: string, volumes?: readonly object[]): Promise<unknown> {
  return t.create(
    PODS,
    pod('default', name, volumes ?? [{ name: 'v', persistentVolumeClaim: { claimName: t.name('pvc') } }]),
  )
}

async function refusedOnce(t: World, setup: SceneSetup = {}): Promise<Scene> {
  const at = await scene(t, { args: ['--retry-interval-start=400ms', '--retry-interval-max=400ms'], ...setup })
  at.driver.on('ControllerExpandVolume', OFFLINE_ONLY)
  await bound(t)
  return at
}

const offline = (t: World): string =>
  `Warning VolumeResizeFailed Unable to expand default/${t.name('pvc')} because CSI driver ${t.driverName} only supports offline expansion and volume is currently in-use`

story('FailedPrecondition while a pod uses the claim: no more calls, an event, until the pod is gone', async (t) => {
  const at = await refusedOnce(t)
  await usedBy(t, t.name('pod'))
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

story('a pod that ended does not count', async (t) => {
  const at = await refusedOnce(t)
  await usedBy(t, t.name('pod'))
  await t.api.merge(
    PODS,
    { namespace: 'default', name: t.name('pod'), subresource: 'status' },
    { status: { phase: 'Succeeded' } },
  )
  await pause(300)
  await ask(t, '2Gi')
  await eventually('calls go on', () => expands(at).length >= 4)
})

story('a pod of another namespace or of another claim does not count', async (t) => {
  const at = await refusedOnce(t)
  await usedBy(t, t.name('pod'), [{ name: 'v', persistentVolumeClaim: { claimName: t.name('other') } }])
  await ask(t, '2Gi')
  await eventually('calls go on', () => expands(at).length >= 4)
})

story('a claim that was not refused is expanded under its pods', async (t) => {
  const at = await scene(t)
  await bound(t)
  await usedBy(t, t.name('pod'))
  await pause(300)
  await ask(t, '2Gi')
  await resized(t, '2Gi')
  equal(expands(at).length, 1)
})

story('--handle-volume-inuse-error=false: pods are not read, the call is made at every retry', async (t) => {
  const args = ['--retry-interval-start=300ms', '--retry-interval-max=300ms', '--handle-volume-inuse-error=false']
  const at = await refusedOnce(t, { args })
  await usedBy(t, t.name('pod'))
  await ask(t, '2Gi')
  await eventually('calls go on', () => expands(at).length >= 4)
  equal(
    at.resizer.gate.requests.filter(({ resource }) => resource === 'pods'),
    [],
  )
})

story('the pod of a generic ephemeral volume counts', { only: 'ours' }, async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=400ms', '--retry-interval-max=400ms'] })
  at.driver.on('ControllerExpandVolume', OFFLINE_ONLY)
  const podName = t.name('pod')
  const { pvc } = await bound(t, { suffix: '-x' })
  // A pod's ephemeral volume `v` has a claim named after both.
  equal(pvc, `${t.id}-pvc-x`)
  const volumeClaimTemplate = { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } }
  await usedBy(t, `${t.id}-pvc`, [{ name: 'x', ephemeral: { volumeClaimTemplate } }])
  await pause(300)
  await ask(t, '2Gi', pvc)
  await untilEvent(t, 'only supports offline expansion', pvc)
  await pause(500)
  const before = expands(at).length
  await never('a call while it is in use', () => expands(at).length > before, 1500)
  ok(podName !== pvc)
})

story('no pod is read before a driver refuses; then one namespaced list', { only: 'ours' }, async (t) => {
  const at = await scene(t)
  await bound(t)
  await ask(t, '2Gi')
  await resized(t, '2Gi')
  const pods = () => at.resizer.gate.requests.filter(({ resource }) => resource === 'pods')
  equal(pods(), [])
  at.driver.on('ControllerExpandVolume', OFFLINE_ONLY)
  await usedBy(t, t.name('pod'))
  await ask(t, '3Gi')
  await untilEvent(t, 'VolumeResizeFailed')
  await eventually('a list of pods', () => pods().length > 0)
  ok(
    pods().every(({ namespace }) => namespace === 'default'),
    'only the namespace of the claim',
  )
})

story('where pods may not be listed the driver decides at each retry', { only: 'ours' }, async (t) => {
  const at = await refusedOnce(t)
  const body = { kind: 'Status', status: 'Failure', message: 'pods is forbidden', reason: 'Forbidden', code: 403 }
  at.resizer.gate.rules.push(({ resource }) => (resource === 'pods' ? { kind: 'answer', code: 403, body } : undefined))
  await usedBy(t, t.name('pod'))
  await ask(t, '2Gi')
  await eventually('calls go on', () => expands(at).length >= 4)
  const warnings = at.resizer.lines.filter((line) => /^[WE]/.test(line) && line.includes('pods is forbidden'))
  equal(warnings.length, 1)
})

import { deepStrictEqual as equal, ok } from 'node:assert'
import { PODS } from '@csi-sidecars/kube-types'
import type { TestContext } from '../../harness/context.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, never, pause } from '../../harness/waiting.ts'
import {
  ask,
  bound,
  eventsOf,
  expands,
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

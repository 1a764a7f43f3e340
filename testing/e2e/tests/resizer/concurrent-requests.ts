import { deepStrictEqual as equal, ok } from 'node:assert'
import { PERSISTENT_VOLUME_CLAIMS } from '@csi-sidecars/kube-types'
import { type Answer, type Call, requiredBytes } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, pause } from '../../harness/waiting.ts'
import { modified, modifying, tierOf, tiersOf, untilState, want } from './modify-scene.ts'
import {
  ask,
  bound,
  conditionsOf,
  expands,
  GI,
  getClaim,
  outline,
  raised,
  resized,
  scene,
  sizesOf,
  statusWord,
  untilClaim,
  usedBy,
} from './scene.ts'

const test = testsOf('resizer', 'concurrent requests', { only: 'ours' })

/** Longer than a test waits, so that a retry after a back-off does not occur. */
const SLOW = ['--retry-interval-start=2m', '--retry-interval-max=5m']

/** Refuses sizes above 3Gi permanently. */
const upTo3Gi =
  (code: number) =>
  ({ request }: Call): Answer =>
    requiredBytes(request) > 3 * GI ? { code, message: 'too much', after: 300 } : { reply: {} }

for (const [code, name] of [
  [13, 'Internal'],
  [3, 'InvalidArgument'],
] as const) {
  test(`a claim lowered while the larger size fails with ${name} continues at once`, async (t) => {
    const at = await scene(t, { args: SLOW })
    at.driver.on('ControllerExpandVolume', upTo3Gi(code))
    await raised(t, { to: '5Gi' })
    await eventually('the call', () => expands(at).length === 1)
    await ask(t, '2Gi')
    await resized(t, '2Gi')
  })

  test(`and after a restart, where the larger size has to end first with ${name}`, async (t) => {
    const at = await scene(t, { args: SLOW })
    at.driver.on('ControllerExpandVolume', upTo3Gi(code))
    const begun = {
      allocatedResources: { storage: '5Gi' },
      allocatedResourceStatuses: { storage: 'ControllerResizeInProgress' },
    }
    await at.resizer.endBy('SIGKILL')
    await raised(t, { status: begun })
    await t.sidecar({ driver: at.driver, args: SLOW })
    await resized(t, '2Gi')
    equal(sizesOf(at), [5, 2])
  })

  test(`the newly requested class is attempted at once when the other fails with ${name}`, async (t) => {
    const at = await modifying(t, { args: SLOW })
    at.driver.on('ControllerModifyVolume', 'hang')
    await want(t, t.name('gold'))
    await untilState(t, 'InProgress')
    await at.resizer.endBy('SIGKILL')
    // The process that began it has ended: gold has to end before silver may begin.
    await want(t, t.name('silver'))
    at.driver.on('ControllerModifyVolume', (call) =>
      tierOf(call) === 'silver' ? { reply: {} } : { code, message: 'no', after: 100 },
    )
    await t.sidecar({ driver: at.driver, args: SLOW })
    await modified(t, t.name('silver'))
    equal(tiersOf(at).slice(-2), ['gold', 'silver'])
  })
}

test('a refused size that is larger than the volume is not requested again after a restart', async (t) => {
  const at = await scene(t, { args: SLOW })
  at.driver.on('ControllerExpandVolume', upTo3Gi(11))
  await at.resizer.endBy('SIGKILL')
  const refused = {
    allocatedResources: { storage: '5Gi' },
    allocatedResourceStatuses: { storage: 'ControllerResizeInfeasible' },
  }
  await raised(t, { volumeSize: '3Gi', status: refused })
  await t.sidecar({ driver: at.driver, args: SLOW })
  await resized(t, '2Gi')
  equal(sizesOf(at), [2])
})

test('a new driver gets the requests that the old one refused at once', async (t) => {
  const codes = [1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]
  const at = await scene(t, { args: SLOW })
  const pvcs: string[] = []
  for (const code of codes) pvcs.push((await bound(t, { suffix: `-${code}` })).pvc)
  await usedBy(t, 'pod', t.name('pvc-9'))
  at.driver.on('ControllerExpandVolume', ({ request }) => {
    const code = Number(/-(\d+)-handle$/.exec(String(request['volume_id']))?.[1])
    return { code, message: 'no' }
  })
  for (const pvc of pvcs) await ask(t, '2Gi', pvc)
  const refused = (): Set<unknown> => new Set(expands(at).map(({ request }) => request['volume_id']))
  await eventually('a call for each', () => refused().size === codes.length)
  await pause(1000)
  at.driver.kill()
  await pause(500)
  at.driver.on('ControllerExpandVolume', { reply: {} })
  await at.driver.start()
  const back = Date.now()
  for (const pvc of pvcs) await resized(t, '2Gi', pvc)
  ok(Date.now() - back < 8000, `${Date.now() - back} ms`)
})

test('the condition Unused flips without a call or a write, and is not lost', async (t) => {
  const at = await scene(t)
  await bound(t)
  const flip = (status: string): Promise<unknown> => {
    const lastTransitionTime = new Date().toISOString()
    const unused = { type: 'Unused', status, reason: 'NoPod', message: 'no pod uses it', lastTransitionTime }
    const ref = { namespace: 'default', name: t.name('pvc'), subresource: 'status' }
    const body = { status: { conditions: [unused] } }
    return t.api.patch(PERSISTENT_VOLUME_CLAIMS, ref, { kind: 'strategic', body })
  }
  for (let round = 0; round < 100; round += 1) await flip(round % 2 === 0 ? 'True' : 'False')
  await pause(500)
  equal(expands(at), [])
  equal(outline(t, at.resizer.gate.writes('persistentvolumeclaims/status', 'persistentvolumes')), [])
  at.driver.on('ControllerExpandVolume', { reply: {}, after: 1000 })
  await ask(t, '2Gi')
  await untilClaim(t, (claim) => statusWord(claim) === 'ControllerResizeInProgress')
  while (statusWord(await getClaim(t)) !== undefined) {
    await flip(Date.now() % 2 === 0 ? 'True' : 'False')
    // A client that writes without a pause makes every guarded write of others conflict.
    await pause(30)
  }
  await resized(t, '2Gi')
  equal(
    conditionsOf(await getClaim(t)).map((each) => each.split('=')[0]),
    ['Unused'],
  )
  equal(expands(at).length, 1)
})

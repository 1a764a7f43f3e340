import { deepStrictEqual as equal, ok } from 'node:assert'
import { PERSISTENT_VOLUME_CLAIMS } from '@csi-sidecars/kube-types'
import { testsOf } from '../../harness/test.ts'
import { eventually, pause } from '../../harness/waiting.ts'
import {
  ask,
  bound,
  conditionsOf,
  expands,
  getClaim,
  outline,
  resized,
  scene,
  statusWord,
  untilClaim,
  usedBy,
} from './scene.ts'

const test = testsOf('resizer', 'concurrent requests', { only: 'ours' })

/** Longer than a test waits, so that a retry after a back-off does not occur. */
const SLOW = ['--retry-interval-start=2m', '--retry-interval-max=5m']

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

testsOf('resizer', 'other drivers', { only: 'ours' })(
  'a driver that restarts without one capability and with another: the line names their sidecars',
  async (t) => {
    const at = await scene(t)
    at.driver.kill()
    await at.resizer.line('Lost connection')
    at.driver.capabilities.controller.splice(0, 1, 'MODIFY_VOLUME')
    at.driver.capabilities.node.push('EXPAND_VOLUME')
    await at.driver.start()
    const line = await at.resizer.line('CSI driver has changed')
    for (const text of ['without the controller capability EXPAND_VOLUME', 'with the node capability EXPAND_VOLUME']) {
      equal(line.includes(text), true, line)
    }
  },
)

import { deepStrictEqual as equal, match, ok } from 'node:assert'
import { freePort } from '@csi-sidecars/emulator'
import { testsOf, WITHOUT_API } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { attachAndWait, scene } from '../attacher/scene.ts'
import { refusedIn } from './scene.ts'

const CANARY = 'canary-of-a-secret'

const attacher = testsOf('attacher', 'endpoint profiling', WITHOUT_API)

attacher('profile, heap, metrics and log of an attach contain no secret', { only: 'ours' }, async (t) => {
  const port = await freePort()
  const at = await scene(t, { args: ['--enable-profiling', `--profiling-address=127.0.0.1:${port}`] })
  const profile = fetch(`http://127.0.0.1:${port}/debug/profile?seconds=3`)
  const secretRef = await t.createSecret({ password: CANARY })
  await attachAndWait(t, at, { pv: { csi: { controllerPublishSecretRef: secretRef } } })
  equal(at.driver.callsOf('ControllerPublishVolume')[0]?.request['secrets'], { password: CANARY })
  const text = await (await profile).text()
  match(text, /"nodes":\[/)
  const summary = await (await fetch(`http://127.0.0.1:${port}/debug/heap`)).text()
  match(summary, /"used_heap_size": \d+/)
  const { text: metrics } = await at.attacher.http('/metrics')
  for (const said of [text, summary, metrics, at.attacher.stderr]) {
    for (const form of [CANARY, Buffer.from(CANARY).toString('base64')]) ok(!said.includes(form))
  }
})

attacher('a profile may take longer than any other answer', { only: 'ours', within: 90_000 }, async (t) => {
  const port = await freePort()
  await scene(t, { args: ['--enable-profiling', `--profiling-address=127.0.0.1:${port}`] })
  const begin = performance.now()
  const { status } = await fetch(`http://127.0.0.1:${port}/debug/profile?seconds=33`)
  equal(status, 200)
  ok(performance.now() - begin >= 33_000)
})

for (const app of ['attacher', 'resizer'] as const) {
  const test = testsOf(app, 'endpoint profiling', { ...WITHOUT_API, only: 'ours' })

  test('is off by default', async (t) => {
    const driver = await t.fullDriver()
    const sidecar = await t.sidecar({ driver })
    await eventually('the HTTP server', async () => (await sidecar.http('/readyz')).code === 200)
    for (const path of ['/debug/profile', '/debug/heap', '/debug/pprof/']) equal((await sidecar.http(path)).code, 404)
  })

  test('on an address other than loopback: one line, exit 1', async (t) => {
    for (const address of [':6060', '0.0.0.0:6060', '[::]:6060']) {
      const error = await refusedIn(t, ['--enable-profiling', `--profiling-address=${address}`])
      const err = 'err="profiles are for loopback addresses only"'
      ok(error.endsWith(`"Failed to serve profiles" ${err} address="${address}"`), error)
    }
  })
}

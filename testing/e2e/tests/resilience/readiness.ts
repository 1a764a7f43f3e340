import { deepStrictEqual as equal, match, ok } from 'node:assert'
import { join } from 'node:path'
import { driverProcess } from '../../harness/driver/driver-process.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, pause } from '../../harness/waiting.ts'
import { attachAndWait, scene } from '../attacher/scene.ts'

const test = testsOf('attacher', 'readiness')
const ONE_TARGET = { only: 'ours', target: 'emulator' } as const

test('a driver that is stopped makes the sidecar not ready within 15 s, but alive; it recovers', {
  ...ONE_TARGET,
  within: 90_000,
}, async (t) => {
  const socket = join(t.folder, 'stopped.sock')
  await using driver = await driverProcess(socket, t.driverName)
  await t.createNode()
  const sidecar = await t.sidecar({ driver: t.idleDriver({ socket }) })
  await eventually('ready', async () => (await sidecar.http('/readyz')).code === 200)
  driver.signal('SIGSTOP')
  const stopped = Date.now()
  const answers: { readonly code: number; readonly text: string }[] = []
  const unready = async (): Promise<boolean> => {
    const asked = Date.now()
    const answer = await sidecar.http('/readyz')
    ok(Date.now() - asked < 1000, 'the kubelet waits for a second')
    answers.push(answer)
    return answer.code === 503
  }
  await eventually('not ready', unready, { within: 17_000 })
  ok(Date.now() - stopped < 17_000)
  match(answers.at(-1)?.text ?? '', /CSI driver \S+ has not answered for 1\d s/)
  equal((await sidecar.http('/livez')).code, 200)
  driver.signal('SIGCONT')
  await eventually('ready again', async () => (await sidecar.http('/readyz')).code === 200, { within: 12_000 })
  const metrics = await sidecar.metrics()
  ok((metrics.value('csi_sidecar_driver_answer_age_seconds', { driver_name: t.driverName }) ?? 99) < 12)
  const labels = { driver_name: t.driverName, method_name: '/csi.v1.Identity/Probe', grpc_status_code: 'OK' }
  equal(metrics.value('csi_sidecar_operations_seconds_count', labels), undefined)
})

test('a driver that says that it is not ready makes the sidecar not ready', {
  ...ONE_TARGET,
  within: 60_000,
}, async (t) => {
  const at = await scene(t)
  at.driver.on('Probe', { reply: { ready: false } })
  await eventually('not ready', async () => (await at.attacher.http('/readyz')).code === 503, { within: 15_000 })
  match((await at.attacher.http('/readyz')).text, /answers that it is not ready/)
})

test('50 requests a second of /readyz while Probe hangs delay no attach, and cause few Probes', {
  ...ONE_TARGET,
  alone: true,
  within: 60_000,
}, async (t) => {
  const at = await scene(t)
  const before = at.driver.callsOf('Probe').length
  at.driver.on('Probe', 'hang')
  let asking = true
  const storm = async (): Promise<void> => {
    const open: Promise<unknown>[] = []
    while (asking) {
      open.push(at.attacher.http('/readyz'))
      await pause(20)
    }
    await Promise.all(open)
  }
  const clients = storm()
  await eventually('a Probe', () => at.driver.callsOf('Probe').length > before, { within: 15_000 })
  for (let index = 0; index < 5; index += 1) {
    const asked = Date.now()
    await attachAndWait(t, at, { suffix: `-${index}` })
    ok(Date.now() - asked < 1500, `${Date.now() - asked} ms`)
  }
  asking = false
  await clients
  ok(at.driver.callsOf('Probe').length - before <= 2)
})

import { deepStrictEqual as equal, match, ok } from 'node:assert'
import { join } from 'node:path'
import { driverProcess } from '../../harness/driver/driver-process.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'

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

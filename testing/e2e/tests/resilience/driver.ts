import { deepStrictEqual as equal, match, ok } from 'node:assert'
import { join } from 'node:path'
import { LEASES } from '@csi-sidecars/kube-types'
import { FACTS } from '@csi-sidecars/sidecars/facts'
import type { RunningSidecar, TestContext } from '../../harness/context.ts'
import { adoptingDriver } from '../../harness/driver/adopting-driver.ts'
import { type Call, driverProcess } from '../../harness/driver/driver.ts'
import { leaseName } from '../../harness/subject.ts'
import { sharingCode, testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { attach, attached, suffixes } from '../../rows/attacher/scene.ts'
import { begin, done, ELECTION, QUICK, scene, type WorkScene } from '../../rows/work.ts'

const quick = (t: TestContext, ...args: readonly string[]): Promise<WorkScene> =>
  scene(t, { args: [...QUICK, ...args] })
const ready = async (sidecar: RunningSidecar): Promise<boolean> => (await sidecar.http('/readyz')).code === 200

for (const app of sharingCode('resizer')) {
  const test = testsOf(app, 'driver loss', { only: 'ours' })
  /** Declares tests that run with our sidecar and with the Go sidecar. */
  const shared = testsOf(app, 'driver loss')
  const { mainMethod: call } = FACTS[app]

  for (const awayMs of [1000, 3000]) {
    test(`the sidecar repeats running calls when a killed driver returns after ${awayMs / 1000} s`, async (t) => {
      const { driver, sidecar } = await quick(t, '--kube-api-qps=200', '--kube-api-burst=200')
      driver.on(call, 'hang')
      await Promise.all(suffixes(20).map((suffix) => begin(t, { suffix })))
      const running = (): readonly Call[] => driver.callsOf(call).filter(({ end }) => end === undefined)
      await eventually('calls in flight', () => running().length >= 10)
      driver.kill()
      await eventually('not ready', async () => !(await ready(sidecar)))
      const position = driver.calls.length
      driver.on(call, { reply: {} })
      await driver.restart(awayMs)
      for (const suffix of suffixes(20)) await done(t, { suffix })
      const names = driver.calls.slice(position).map(({ method }) => method)
      const first = names.indexOf(call)
      for (const before of ['Probe', 'GetPluginInfo', 'GetPluginCapabilities', 'ControllerGetCapabilities']) {
        const at = names.indexOf(before)
        ok(at >= 0 && at < first, `${before} comes before the first operation: ${names.slice(0, 8)}`)
      }
      const probe = driver.calls.slice(position).find(({ method }) => method === 'Probe')
      const next = driver.callsOf(call).find(({ start }) => start >= (probe?.start ?? 0))
      const resumed = (next?.start ?? Infinity) - (probe?.end ?? 0)
      ok(resumed < 5000, `work resumed ${resumed} ms after Probe`)
      equal(sidecar.exit, undefined)
      await eventually('ready again', () => ready(sidecar))
    })
  }

  test('after the grace period without its driver, a leader releases the Lease to a standby', async (t) => {
    const args = [...ELECTION, '--driver-grace-period=3s']
    const { driver, sidecar: first } = await scene(t, { args, hostname: 'first' })
    await first.line('became leader, starting')
    const second = await t.sidecar({ driver: await t.fullDriver(), args, hostname: 'second' })
    await second.line('Attempting to acquire leader lease...')
    driver.kill()
    const killed = Date.now()
    await begin(t)
    await done(t)
    ok(Date.now() - killed < 20_000, `${Date.now() - killed} ms`)
    const name = leaseName(app, t.driverName)
    const { spec } = await t.api.get(LEASES, { namespace: 'default', name })
    equal(spec?.holderIdentity, 'second')
    const waited = Date.parse(spec?.acquireTime ?? '') - killed
    ok(waited >= 2_500, `a new leader within the grace period, after ${waited} ms`)
    equal(first.exit, undefined)
    // The first process becomes a standby again when its driver is back.
    await driver.start()
    await eventually('ready again', () => ready(first))
    second.signal('SIGKILL')
    await begin(t, { suffix: '-b' })
    await eventually('the first leads again', () => driver.callsOf(call).length > 0)
  })

  test('without leader election, the process waits 40 s for its driver', { long: true }, async (t) => {
    const { driver, sidecar } = await quick(t)
    driver.kill()
    await begin(t)
    await driver.restart(40_000)
    equal(sidecar.exit, undefined)
    const back = Date.now()
    await done(t)
    ok(Date.now() - back < 10_000, `${Date.now() - back} ms`)
  })

  shared('with --on-driver-loss=exit, a lost driver ends the process with exit code 1', async (t) => {
    const { driver, sidecar } = await quick(t, ...(t.ours ? ['--on-driver-loss=exit'] : []))
    driver.on(call, 'hang')
    await begin(t)
    await eventually('a call', () => driver.callsOf(call).length > 0)
    driver.kill()
    equal((await sidecar.end()).code, 1)
    ok(sidecar.linesWith('Lost connection to CSI driver, exiting').length > 0, sidecar.stderr.slice(-2000))
  })
}

const CALLS_THAT_FAIL = 40

testsOf('attacher', 'answers of a driver')(
  'a repetitive error message of 57 KB from the driver costs little CPU time',
  async (t) => {
    await using driver = await adoptingDriver(t)
    const node = await t.createNode('node')
    const retries = ['--retry-interval-start=10ms', '--retry-interval-max=20ms']
    const attacher = await t.sidecar({ args: [`--csi-address=${driver.socket}`, ...retries] })
    await t.watching(attacher, 'volumeattachments', 'persistentvolumes', 'csinodes')
    const message = `${'triggered by internal client error: '.repeat(1600)}\n`
    driver.faults.add({
      match: { method: 'ControllerPublishVolume' },
      action: { kind: 'fail', code: 'INTERNAL', message },
    })
    await attach(t, { node })
    await driver.log.until({ method: 'ControllerPublishVolume' }, { count: CALLS_THAT_FAIL, timeoutMs: 30_000 })
    const cpuSeconds = (await attacher.metrics()).value('process_cpu_seconds_total') ?? Infinity
    ok(cpuSeconds < 4, `${cpuSeconds} s of CPU`)
    driver.faults.clear()
    await attached(t)
  },
)

testsOf('attacher', 'readiness')(
  'a frozen driver makes the sidecar unready within 17 s, but the sidecar stays alive and recovers',
  { only: 'ours', target: 'emulator', within: 90_000 },
  async (t) => {
    const socket = join(t.folder, 'stopped.sock')
    await using driver = await driverProcess(socket, t.driverName)
    await t.createNode()
    const sidecar = await t.sidecar({ driver: t.idleDriver({ socket }) })
    await eventually('ready', async () => (await sidecar.http('/readyz')).code === 200)
    driver.signal('SIGSTOP')
    const stopped = Date.now()
    const answers: { readonly code: number; readonly text: string }[] = []
    let late = 0
    const unready = async (): Promise<boolean> => {
      const asked = Date.now()
      const answer = await sidecar.http('/readyz')
      // The kubelet waits for a second.
      if (Date.now() - asked >= 1000) late += 1
      answers.push(answer)
      return answer.code === 503
    }
    await eventually('not ready', unready)
    ok(Date.now() - stopped < 20_000, `${Date.now() - stopped} ms`)
    ok(late <= 2, `${late} of ${answers.length} answers were late`)
    match(answers.at(-1)?.text ?? '', /CSI driver \S+ has not answered for 1\d s/)
    equal((await sidecar.http('/livez')).code, 200)
    driver.signal('SIGCONT')
    await eventually('ready again', async () => (await sidecar.http('/readyz')).code === 200)
    const metrics = await sidecar.metrics()
    ok((metrics.value('csi_sidecar_driver_answer_age_seconds', { driver_name: t.driverName }) ?? 99) < 12)
    const labels = { driver_name: t.driverName, method_name: '/csi.v1.Identity/Probe', grpc_status_code: 'OK' }
    equal(metrics.value('csi_sidecar_operations_seconds_count', labels), undefined)
  },
)

import { deepStrictEqual as equal, ok } from 'node:assert'
import { createServer } from 'node:net'
import { LEASES } from '@csi-sidecars/kube-types'
import { FACTS } from '@csi-sidecars/sidecars/facts'
import type { RunningSidecar, TestContext } from '../../harness/context.ts'
import type { Call } from '../../harness/driver/driver.ts'
import { leaseName } from '../../harness/subject.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, never, pause } from '../../harness/waiting.ts'
import { suffixes } from '../attacher/scene.ts'
import { begin, done, scene, type WorkScene } from '../work.ts'

const QUICK = ['--retry-interval-start=200ms', '--retry-interval-max=1s']

const quick = (t: TestContext, ...args: readonly string[]): Promise<WorkScene> =>
  scene(t, { args: [...QUICK, ...args] })
const ready = async (sidecar: RunningSidecar): Promise<boolean> => (await sidecar.http('/readyz')).code === 200

for (const app of ['attacher', 'resizer'] as const) {
  const test = testsOf(app, 'driver loss', { only: 'ours' })
  /** Tests that also run with the originals. */
  const shared = testsOf(app, 'driver loss')
  const { call } = FACTS[app]

  for (const awayMs of [1000, 3000]) {
    test(`killed with calls in flight, back after ${awayMs / 1000} s: the same process, everything converges`, async (t) => {
      const { driver, sidecar } = await quick(t, '--kube-api-qps=200', '--kube-api-burst=200')
      driver.on(call, 'hang')
      await Promise.all(suffixes(20).map((suffix) => begin(t, { suffix })))
      const running = (): readonly Call[] => driver.callsOf(call).filter(({ end }) => end === undefined)
      await eventually('calls in flight', () => running().length >= 10)
      driver.kill()
      await eventually('not ready', async () => !(await ready(sidecar)), { within: 1500 })
      await pause(awayMs)
      const mark = driver.calls.length
      driver.on(call, { reply: {} })
      await driver.start()
      for (const suffix of suffixes(20)) await done(t, { suffix })
      const names = driver.calls.slice(mark).map(({ method }) => method)
      const first = names.indexOf(call)
      for (const before of ['Probe', 'GetPluginInfo', 'GetPluginCapabilities', 'ControllerGetCapabilities']) {
        const at = names.indexOf(before)
        ok(at >= 0 && at < first, `${before} comes before the first operation: ${names.slice(0, 8)}`)
      }
      const probe = driver.calls.slice(mark).find(({ method }) => method === 'Probe')
      const next = driver.callsOf(call).find(({ start }) => start >= (probe?.start ?? 0))
      const resumed = (next?.start ?? Infinity) - (probe?.end ?? 0)
      ok(resumed < 2000, `work resumed ${resumed} ms after Probe`)
      equal(sidecar.exit, undefined)
      await eventually('ready again', () => ready(sidecar))
    })
  }

  test('lost while idle: noticed within a second, work waits for its return', async (t) => {
    const { driver, sidecar } = await quick(t)
    await eventually('ready', () => ready(sidecar))
    driver.kill()
    await eventually('not ready', async () => !(await ready(sidecar)), { within: 1500 })
    await begin(t)
    await pause(1500)
    await driver.start()
    const back = Date.now()
    await done(t)
    ok(Date.now() - back < 4000)
  })

  test('disconnected longer than the grace period: the lease is released, a standby with a running driver leads', async (t) => {
    const args = [
      ...QUICK,
      '--leader-election',
      '--leader-election-lease-duration=6s',
      '--leader-election-renew-deadline=4s',
      '--leader-election-retry-period=1s',
      '--driver-grace-period=3s',
    ]
    const { driver, sidecar: first } = await scene(t, { args, hostname: 'first' })
    await first.line('became leader, starting')
    const second = await t.sidecar({ driver: await t.fullDriver(), args, hostname: 'second' })
    await second.line('Attempting to acquire leader lease...')
    driver.kill()
    const killed = Date.now()
    await never('a new leader within the grace period', () => second.linesWith('became leader').length > 0, 2000)
    await begin(t)
    await done(t)
    ok(Date.now() - killed < 8000, `${Date.now() - killed} ms`)
    const name = leaseName(app, t.driverName)
    equal((await t.api.get(LEASES, { namespace: 'default', name })).spec?.holderIdentity, 'second')
    equal(first.exit, undefined)
    // The first process becomes a standby again when its driver is back.
    await driver.start()
    await eventually('ready again', () => ready(first))
    second.signal('SIGKILL')
    await begin(t, { suffix: '-b' })
    await eventually('the first leads again', () => driver.callsOf(call).length > 0, { within: 15_000 })
  })

  test('disconnected for 40 s without leader election: the process waits', {
    long: 'real',
  }, async (t) => {
    const { driver, sidecar } = await quick(t)
    driver.kill()
    await begin(t)
    await pause(40_000)
    equal(sidecar.exit, undefined)
    await driver.start()
    const back = Date.now()
    await done(t)
    ok(Date.now() - back < 5000, `${Date.now() - back} ms`)
  })

  test('another driver on the same socket is a fatal error', async (t) => {
    const { driver, sidecar } = await quick(t)
    driver.kill()
    driver.name = 'impostor.example.com'
    await driver.start()
    equal((await sidecar.end()).code, 1)
    const line = sidecar.lines.filter((each) => /^[EF]/.test(each)).at(-1) ?? ''
    ok(line.includes('impostor.example.com') && line.includes(t.driverName), line)
  })

  test('a driver that restarts without a former capability is a fatal error', async (t) => {
    const { driver, sidecar } = await quick(t)
    driver.kill()
    driver.capabilities.controller = []
    await driver.start()
    equal((await sidecar.end()).code, 1)
    const line = sidecar.lines.filter((each) => /^[EF]/.test(each)).at(-1) ?? ''
    ok(line.includes(app === 'attacher' ? 'PUBLISH_UNPUBLISH_VOLUME' : 'EXPAND_VOLUME'), line)
  })

  shared('a lost driver ends the process with 1', async (t) => {
    const { driver, sidecar } = await quick(t, ...(t.ours ? ['--on-driver-loss=exit'] : []))
    driver.on(call, 'hang')
    await begin(t)
    await eventually('a call', () => driver.callsOf(call).length > 0)
    driver.kill()
    equal((await sidecar.end()).code, 1)
    ok(sidecar.linesWith('Lost connection to CSI driver, exiting').length > 0, sidecar.stderr.slice(-2000))
  })

  test('a peer that accepts and never answers does not hang the process', async (t) => {
    const { driver, sidecar } = await quick(t)
    driver.kill()
    const mute = createServer(() => undefined)
    const sockets = new Set<{ destroy(): void }>()
    mute.on('connection', (socket) => sockets.add(socket.on('error', () => undefined)))
    await new Promise<void>((resolve) => mute.listen(driver.socket, () => resolve()))
    await begin(t)
    await pause(6000)
    await new Promise<void>((resolve) => {
      mute.close(() => resolve())
      for (const socket of sockets) socket.destroy()
    })
    await driver.start()
    await done(t)
    equal(sidecar.exit, undefined)
  })
}

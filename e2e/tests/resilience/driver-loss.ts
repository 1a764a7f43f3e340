import { deepStrictEqual as equal, ok } from 'node:assert'
import { CSI_NODES, LEASES, STORAGE_CLASSES } from '@csi-sidecars/kube-types'
import { csiNode, storageClass } from '../../harness/api/objects.ts'
import type { RunningSidecar, TestContext } from '../../harness/context.ts'
import type { Call, Driver } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, never, pause } from '../../harness/waiting.ts'
import { attach, attached } from '../attacher/scene.ts'
import { ask, bound, GI, resized } from '../resizer/scene.ts'

const CALL = { attacher: 'ControllerPublishVolume', resizer: 'ControllerExpandVolume' }
const QUICK = ['--retry-interval-start=200ms', '--retry-interval-max=1s']

async function ground(t: TestContext): Promise<Driver> {
  if (t.app === 'attacher') await t.create(CSI_NODES, csiNode(t.name('node'), { [t.driverName]: 'n1' }))
  else await t.create(STORAGE_CLASSES, storageClass(t.name('class'), t.driverName))
  const driver = await t.driver({ controller: ['PUBLISH_UNPUBLISH_VOLUME', 'EXPAND_VOLUME'] })
  answers(driver)
  return driver
}

function answers(driver: Driver): void {
  driver.on('ControllerPublishVolume', { reply: {} })
  driver.on('ControllerExpandVolume', { reply: { capacityBytes: BigInt(2 * GI), nodeExpansionRequired: false } })
}

async function running(t: TestContext, driver: Driver, args: readonly string[] = []): Promise<RunningSidecar> {
  const sidecar = await t.sidecar({ driver, args: [...QUICK, ...args] })
  await t.watching(sidecar, 'persistentvolumes', t.app === 'attacher' ? 'volumeattachments' : 'persistentvolumeclaims')
  return sidecar
}

async function work(t: TestContext, suffix: string): Promise<void> {
  if (t.app === 'attacher') await attach(t, { node: t.name('node') }, { suffix })
  else {
    const { pvc } = await bound(t, { suffix })
    await ask(t, '2Gi', pvc)
  }
}

const isDone = (t: TestContext, suffix: string): Promise<unknown> =>
  t.app === 'attacher' ? attached(t, t.name(`va${suffix}`)) : resized(t, '2Gi', t.name(`pvc${suffix}`))
const calls = (t: TestContext, driver: Driver): readonly Call[] => driver.callsOf(CALL[t.app])
const ready = async (sidecar: RunningSidecar): Promise<boolean> => (await sidecar.http('/readyz')).code === 200

/** Starts `count` pieces of work whose calls hang, and kills the driver under them. */
async function killedUnder(t: TestContext, driver: Driver, count: number): Promise<readonly string[]> {
  const suffixes = Array.from({ length: count }, (_, index) => `-${index}`)
  driver.on(CALL[t.app], 'hang')
  await Promise.all(suffixes.map((suffix) => work(t, suffix)))
  await eventually(
    'calls in flight',
    () => calls(t, driver).filter(({ end }) => end === undefined).length >= Math.min(count, 10),
  )
  driver.kill()
  return suffixes
}

for (const app of ['attacher', 'resizer'] as const) {
  const test = testsOf(app, 'driver loss')

  for (const awayMs of [1000, 3000]) {
    test(`killed with calls in flight, back after ${awayMs / 1000} s: the same process, everything converges`, {
      only: 'ours',
    }, async (t) => {
      const driver = await ground(t)
      const sidecar = await running(t, driver, ['--kube-api-qps=200', '--kube-api-burst=200'])
      const suffixes = await killedUnder(t, driver, 20)
      await eventually('not ready', async () => !(await ready(sidecar)), { within: 1500 })
      await pause(awayMs)
      const mark = driver.calls.length
      answers(driver)
      await driver.start()
      for (const suffix of suffixes) await isDone(t, suffix)
      const names = driver.calls.slice(mark).map(({ method }) => method)
      const first = names.indexOf(CALL[app])
      for (const before of ['Probe', 'GetPluginInfo', 'GetPluginCapabilities', 'ControllerGetCapabilities']) {
        const at = names.indexOf(before)
        ok(at >= 0 && at < first, `${before} comes before the first operation: ${names.slice(0, 8)}`)
      }
      const probe = driver.calls.slice(mark).find(({ method }) => method === 'Probe')
      const resumed =
        (calls(t, driver).find(({ start }) => start >= (probe?.start ?? 0))?.start ?? Infinity) - (probe?.end ?? 0)
      ok(resumed < 2000, `work resumed ${resumed} ms after Probe`)
      equal(sidecar.exit, undefined)
      await eventually('ready again', () => ready(sidecar))
    })
  }

  test('lost while idle: noticed within a second, work waits for its return', { only: 'ours' }, async (t) => {
    const driver = await ground(t)
    const sidecar = await running(t, driver)
    await eventually('ready', () => ready(sidecar))
    driver.kill()
    await eventually('not ready', async () => !(await ready(sidecar)), { within: 1500 })
    await work(t, '-a')
    await pause(1500)
    await driver.start()
    const back = Date.now()
    await isDone(t, '-a')
    ok(Date.now() - back < 4000)
  })

  test('disconnected longer than the grace period: the lease is released, a standby with a running driver leads', {
    only: 'ours',
  }, async (t) => {
    const driver = await ground(t)
    const args = [
      ...QUICK,
      '--leader-election',
      '--leader-election-lease-duration=6s',
      '--leader-election-renew-deadline=4s',
      '--leader-election-retry-period=1s',
      '--driver-grace-period=3s',
    ]
    const first = await t.sidecar({ driver, args, hostname: 'first' })
    await first.line('became leader, starting')
    const other = await t.driver({ controller: ['PUBLISH_UNPUBLISH_VOLUME', 'EXPAND_VOLUME'] })
    answers(other)
    const second = await t.sidecar({ driver: other, args, hostname: 'second' })
    await second.line('Attempting to acquire leader lease...')
    driver.kill()
    const killed = Date.now()
    await never('a new leader within the grace period', () => second.linesWith('became leader').length > 0, 2000)
    await work(t, '-a')
    await isDone(t, '-a')
    ok(Date.now() - killed < 8000, `${Date.now() - killed} ms`)
    const name =
      (app === 'attacher' ? 'external-attacher-leader-' : 'external-resizer-') + t.driverName.replaceAll('.', '-')
    equal((await t.api.get(LEASES, { namespace: 'default', name })).spec?.holderIdentity, 'second')
    equal(first.exit, undefined)
    // With its driver back it is a standby again.
    await driver.start()
    await eventually('ready again', () => ready(first))
    second.signal('SIGKILL')
    await work(t, '-b')
    await eventually('the first leads again', () => calls(t, driver).length > 0, { within: 15_000 })
  })

  test('disconnected for 40 s without leader election: the process waits', {
    only: 'ours',
    long: 'real',
  }, async (t) => {
    const driver = await ground(t)
    const sidecar = await running(t, driver)
    driver.kill()
    await work(t, '-a')
    await pause(40_000)
    equal(sidecar.exit, undefined)
    await driver.start()
    const back = Date.now()
    await isDone(t, '-a')
    ok(Date.now() - back < 5000, `${Date.now() - back} ms`)
  })

  test('another driver on the same socket is a fatal error', { only: 'ours' }, async (t) => {
    const driver = await ground(t)
    const sidecar = await running(t, driver)
    driver.kill()
    driver.name = 'impostor.example.com'
    await driver.start()
    equal((await sidecar.end()).code, 1)
    const line = sidecar.lines.filter((each) => /^[EF]/.test(each)).at(-1) ?? ''
    ok(line.includes('impostor.example.com') && line.includes(t.driverName), line)
  })

  test('a driver that restarts without a former capability is a fatal error', { only: 'ours' }, async (t) => {
    const driver = await ground(t)
    const sidecar = await running(t, driver)
    driver.kill()
    driver.capabilities.controller = []
    await driver.start()
    equal((await sidecar.end()).code, 1)
    const line = sidecar.lines.filter((each) => /^[EF]/.test(each)).at(-1) ?? ''
    ok(line.includes(app === 'attacher' ? 'PUBLISH_UNPUBLISH_VOLUME' : 'EXPAND_VOLUME'), line)
  })

  test('a lost driver ends the process with 1', async (t) => {
    const driver = await ground(t)
    const sidecar = await running(t, driver, t.ours ? ['--on-driver-loss=exit'] : [])
    driver.on(CALL[app], 'hang')
    await work(t, '-a')
    await eventually('a call', () => calls(t, driver).length > 0)
    driver.kill()
    equal((await sidecar.end()).code, 1)
    ok(sidecar.linesWith('Lost connection to CSI driver, exiting').length > 0, sidecar.stderr.slice(-2000))
  })

  test('a peer that accepts and never answers does not hang the process', { only: 'ours' }, async (t) => {
    const driver = await ground(t)
    const sidecar = await running(t, driver)
    driver.kill()
    const { createServer } = await import('node:net')
    const mute = createServer(() => undefined)
    const sockets = new Set<{ destroy(): void }>()
    mute.on('connection', (socket) => sockets.add(socket.on('error', () => undefined)))
    await new Promise<void>((resolve) => mute.listen(driver.socket, () => resolve()))
    await work(t, '-a')
    await pause(6000)
    await new Promise<void>((resolve) => {
      mute.close(() => resolve())
      for (const socket of sockets) socket.destroy()
    })
    await driver.start()
    await isDone(t, '-a')
    equal(sidecar.exit, undefined)
  })
}

import { deepStrictEqual as equal, ok } from 'node:assert'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '@csi-sidecars/emulator'
import type { TestContext } from '../../harness/context.ts'
import { driverProcess } from '../../harness/driver/driver.ts'
import { memoryOf } from '../../harness/process/memory.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, repeat } from '../../harness/waiting.ts'
import { allAttached, attach, suffixes } from '../../rows/attacher/scene.ts'
import { ELECTION, type WorkScene } from '../../rows/work.ts'
import { scene } from '../resilience/one-process.ts'
import { get, type HealthAnswer, listening, livenessprobe } from './cases.ts'

const test = testsOf('both', 'livenessprobe')
const OURS = { only: 'ours', target: 'real' } as const
const EMULATED = { only: 'ours', target: 'emulator' } as const
const OK: HealthAnswer = { status: 200, type: 'text/plain; charset=utf-8', text: 'ok' }
const ALL_THREE = '--controllers=attacher,resizer,livenessprobe'

const openFiles = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length

interface Three extends WorkScene {
  readonly port: number
}

async function three(t: TestContext, setup: Parameters<typeof scene>[1] = {}): Promise<Three> {
  const port = await freePort()
  const at = await scene(t, {
    ...setup,
    args: [ALL_THREE, `--livenessprobe-health-port=${port}`, ...(setup?.args ?? [])],
  })
  await listening(port)
  return { ...at, port }
}

test('the livenessprobe answers despite a lost API server, a lost Lease and a full work queue', {
  ...OURS,
  within: 90_000,
}, async (t) => {
  const at = await three(t, { args: ELECTION })
  at.driver.on('ControllerPublishVolume', 'hang')
  await Promise.all(suffixes(60).map((suffix) => attach(t, at, { suffix })))
  await eventually('calls that hang', () => at.driver.callsOf('ControllerPublishVolume').length >= 10)
  equal(await get(at.port), OK)
  // The metrics of the controllers do not count calls of the livenessprobe, which serves no metrics by default.
  const labels = { driver_name: t.driverName, method_name: '/csi.v1.Identity/Probe', grpc_status_code: 'OK' }
  equal((await at.sidecar.metrics()).value('csi_sidecar_operations_seconds_count', labels), undefined)
  equal(((await get(at.port, '/metrics')) as HealthAnswer).status, 404)
  await at.sidecar.gate.close()
  await at.sidecar.line('Failed to renew lease', { within: 30_000 })
  equal(await get(at.port), OK)
  equal(at.sidecar.exit, undefined)
})

test('the livenessprobe listens even if the API server has never answered', EMULATED, async (t) => {
  const driver = await t.fullDriver()
  const gate = await t.gate()
  await gate.close()
  const port = await freePort()
  await t.sidecar({ app: 'both', driver, gate, args: [ALL_THREE, `--livenessprobe-health-port=${port}`] })
  await listening(port)
  equal(await get(port), OK)
})

test(
  'the livenessprobe answers 500 while the driver process is stopped, and 200 after it continues',
  EMULATED,
  async (t) => {
    const socket = join(t.folder, 'stopped.sock')
    await using driver = await driverProcess(socket, t.driverName)
    const at = await three(t, { driver: t.idleDriver({ socket }), args: ['--livenessprobe-probe-timeout=1s'] })
    const statuses: number[] = []
    let asking = true
    const client = (): Promise<void> =>
      repeat(20, async () => {
        statuses.push(((await get(at.port)) as HealthAnswer).status)
        return asking
      })
    const clients = Array.from({ length: 20 }, client)
    const work = suffixes(20).map((suffix) => attach(t, at, { suffix }))
    driver.signal('SIGSTOP')
    // Calls that the driver has answered before the stop may still end.
    await eventually('only answers of 500', () => {
      const last = statuses.slice(-clients.length)
      return last.length === clients.length && last.every((status) => status === 500)
    })
    const from = statuses.length
    driver.signal('SIGCONT')
    await Promise.all(work)
    await allAttached(t, suffixes(20))
    await eventually('answers after it', async () => ((await get(at.port)) as HealthAnswer).status === 200)
    asking = false
    await Promise.all(clients)
    ok(statuses.slice(from).includes(200))
    ok(statuses.every((status) => status === 200 || status === 500))
  },
)

test('10,000 requests to the livenessprobe leak no memory and no open files', {
  ...EMULATED,
  alone: 'machine',
  within: 240_000,
  long: true,
}, async (t) => {
  const { socket } = await t.driver()
  const { port, sidecar } = await livenessprobe(t, { side: 'ours', socket })
  await listening(port)
  const round = async (requests: number): Promise<void> => {
    const clients = Array.from({ length: 10 }, async () => {
      for (let index = 0; index < requests / 10; index += 1) equal(((await get(port)) as HealthAnswer).status, 200)
    })
    await Promise.all(clients)
  }
  await round(2_000)
  const before = openFiles(sidecar.pid)
  const memory = memoryOf(sidecar.pid).rss
  await round(10_000)
  await eventually(`the end of all connections, ${before} files before`, () => openFiles(sidecar.pid) <= before)
  const grown = memoryOf(sidecar.pid).rss - memory
  ok(grown < 4, `${grown} MiB`)
})

import { deepStrictEqual as equal, ok } from 'node:assert'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { freePort } from '@csi-sidecars/emulator'
import type { RunningSidecar, TestContext } from '../../harness/context.ts'
import { driverProcess, type Script } from '../../harness/driver/driver.ts'
import { goProgram } from '../../harness/programs/binaries.ts'
import { LONG, testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'

const ROOT = resolve(import.meta.dirname, '../../../..')

type Side = 'ours' | 'original'

interface Probe {
  readonly sidecar: RunningSidecar
  readonly port: number
}

interface ProbeSetup {
  readonly side: Side
  readonly socket: string
  readonly args?: readonly string[]
}

/** One HTTP answer of the livenessprobe. `type` is the content type; null if the answer has none. */
export interface HealthAnswer {
  readonly status: number
  readonly type: string | null
  readonly text: string
}

/** Starts the livenessprobe alone, with the flags of the Go sidecar. Does not wait until it listens. */
export async function livenessprobe(t: TestContext, { side, socket, args = [] }: ProbeSetup): Promise<Probe> {
  const port = await freePort()
  const ownArgs = [
    `--csi-address=${socket}`,
    ...(args.some((arg) => /-(?:endpoint|port)=/.test(arg)) ? [] : [`--health-port=${port}`]),
  ]
  const bareArgs = [...ownArgs, ...args.map((arg) => arg.replace('PORT', String(port)))]
  const sidecar = await t.sidecar(
    side === 'ours'
      ? { app: 'both', bareArgs: ['--controllers=livenessprobe', ...bareArgs] }
      : { binary: goProgram(ROOT, 'livenessprobe'), bareArgs },
  )
  return { sidecar, port }
}

/** Sends one request on a separate connection, as the kubelet does. Returns `refused` if no process listens. */
export async function get(port: number, path = '/healthz'): Promise<HealthAnswer | 'refused'> {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: 'close' } })
    return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text() }
  } catch (error) {
    if (/ECONNREFUSED/.test(String((error as Error).cause))) return 'refused'
    throw error
  }
}

export async function listening(port: number): Promise<void> {
  await eventually('it listens', async () => (await get(port)) !== 'refused')
}

/** Waits until the process logs its first line. */
async function started({ sidecar }: Probe): Promise<void> {
  await eventually('a log line', () => sidecar.lines.length > 0)
}

/** Reports whether the livenessprobe knew the name of the driver before it listened. */
function listenedAfterName(probe: Probe): boolean {
  const all = messages(probe)
  const [named, listens] = [all.indexOf('CSI driver name'), all.indexOf('ServeMux listening')]
  return named >= 0 && named < listens
}

/** Returns the messages of the log lines, without the message `Version`, which only one implementation logs. */
function messages({ sidecar }: Probe): readonly string[] {
  const all = sidecar.lines.flatMap((line) => / [\w.-]+:\d+\] "((?:[^"\\]|\\.)*)"/.exec(line)?.[1] ?? [])
  return all.filter((message) => message !== 'Version')
}

/** The long tests also run each case with the Go sidecar. Both programs must give the same answers. */
const SIDES: readonly Side[] = LONG ? ['original', 'ours'] : ['ours']

const test = testsOf('both', 'livenessprobe')
/** The options of tests that need the Go sidecar. Only test runs with the real API server build Go programs. */
const ONE_TARGET = { only: 'ours', target: 'real' } as const

type Start = (setup: Partial<ProbeSetup>) => Promise<Probe>

interface Case {
  readonly title: string
  readonly expected: unknown
  readonly see: (t: TestContext, start: Start) => Promise<unknown>
}

/** Starts the livenessprobe with a healthy driver, and waits until it listens. */
async function healthy(t: TestContext, start: Start, args: readonly string[] = []): Promise<Probe> {
  const probe = await start({ socket: (await t.driver()).socket, args })
  await listening(probe.port)
  return probe
}

/** Returns the status of an answer, or undefined if no process listens. */
async function statusOf(port: number, path?: string): Promise<number | undefined> {
  const answer = await get(port, path)
  return answer === 'refused' ? undefined : answer.status
}

const OK = { status: 200, type: 'text/plain; charset=utf-8', text: 'ok' }
const failed = (text: string): object => ({ status: 500, type: 'text/plain; charset=utf-8', text })
const OVERDUE = 'context deadline exceeded'

/** Returns a case that starts the livenessprobe with a driver that gives these answers, and sends one request. */
const withProbe =
  (script: Script, args: readonly string[] = []): Case['see'] =>
  async (t, start) => {
    const driver = await t.driver()
    driver.on('Probe', script)
    const probe = await start({ socket: driver.socket, args })
    await eventually('it listens', () => messages(probe).includes('ServeMux listening'))
    await eventually('an answer', async () => (await get(probe.port)) !== 'refused')
    return await get(probe.port)
  }

const CASES: readonly Case[] = [
  { title: 'a ready driver', expected: OK, see: withProbe({ reply: { ready: true } }) },
  { title: 'a driver that omits `ready` in its answer', expected: OK, see: withProbe({ reply: {} }) },
  {
    title: 'a driver that is not ready',
    expected: failed('driver responded but is not ready'),
    see: withProbe({ reply: { ready: false } }),
  },
  {
    title: 'a driver that answers with an error',
    expected: failed('rpc error: code = FailedPrecondition desc = no disk'),
    see: withProbe({ code: 9, message: 'no disk' }),
  },
  {
    title: 'a driver without Probe',
    expected: failed('rpc error: code = Unimplemented desc = unknown method'),
    see: withProbe({ code: 12, message: 'unknown method' }),
  },
  {
    title: 'a driver that answers within --probe-timeout',
    expected: OK,
    see: withProbe({ reply: { ready: true }, after: 500 }, ['--probe-timeout=2s']),
  },
  {
    title: 'a driver that exceeds --probe-timeout',
    expected: failed(`rpc error: code = DeadlineExceeded desc = ${OVERDUE}`),
    see: withProbe('hang', ['--probe-timeout=300ms']),
  },
  {
    title: 'a driver that starts late, ends and starts again',
    expected: ['refused', OK, true, failed(OVERDUE), OK],
    see: async (t, start) => {
      const driver = t.idleDriver()
      const probe = await start({ socket: driver.socket, args: ['--probe-timeout=700ms'] })
      const { port, sidecar } = probe
      await started(probe)
      const seen: unknown[] = [await get(port)]
      await driver.start()
      await listening(port)
      seen.push(await get(port), listenedAfterName(probe))
      driver.kill()
      seen.push(await get(port))
      await driver.start()
      await eventually('it answers again', async () => (await statusOf(port)) === 200)
      seen.push(await get(port))
      equal(sidecar.exit, undefined)
      return seen
    },
  },
  {
    title: 'a driver that is stopped and continues',
    expected: [OK, failed(OVERDUE), OK],
    see: async (t, start) => {
      const socket = join(t.folder, `stopped-${Math.random()}.sock`)
      await using driver = await driverProcess(socket, t.driverName)
      const { port } = await start({ socket, args: ['--probe-timeout=700ms'] })
      await listening(port)
      const seen: unknown[] = [await get(port)]
      driver.signal('SIGSTOP')
      seen.push(await get(port))
      driver.signal('SIGCONT')
      seen.push(await get(port))
      return seen
    },
  },
  {
    title: 'a driver whose name cannot be read',
    expected: { code: 1, signal: null, last: 'Failed to get CSI driver name' },
    see: async (t, start) => {
      const driver = await t.driver()
      driver.on('GetPluginInfo', { code: 13, message: 'no name' })
      const probe = await start({ socket: driver.socket })
      const { code, signal } = await probe.sidecar.end()
      return { code, signal, last: messages(probe).at(-1) }
    },
  },
  {
    title: 'a driver that returns its name slowly',
    expected: ['refused', OK, true],
    see: async (t, start) => {
      const driver = await t.driver()
      const { promise, resolve } = Promise.withResolvers<void>()
      driver.on('GetPluginInfo', { reply: { name: t.driverName, vendorVersion: '1', manifest: {} }, after: promise })
      const probe = await start({ socket: driver.socket })
      await eventually('the call', () => driver.callsOf('GetPluginInfo').length > 0)
      const before = await get(probe.port)
      resolve()
      await listening(probe.port)
      return [before, await get(probe.port), listenedAfterName(probe)]
    },
  },
  {
    title: 'a socket that is a file or belongs to a silent server, until SIGTERM',
    expected: [
      ['refused', { code: null, signal: 'SIGTERM' }, []],
      ['refused', { code: null, signal: 'SIGTERM' }, []],
    ],
    see: async (t, start) => {
      const file = join(t.folder, `file-${Math.random()}.sock`)
      writeFileSync(file, '')
      const silent = join(t.folder, `silent-${Math.random()}.sock`)
      let connected = false
      const server = createServer(() => {
        connected = true
      }).listen(silent)
      const seen: unknown[] = []
      for (const socket of [file, silent]) {
        const probe = await start({ socket })
        await started(probe)
        if (socket === silent) await eventually('a connection', () => connected)
        const before = await get(probe.port)
        const { code, signal } = await probe.sidecar.endBy('SIGTERM')
        const listened = messages(probe).filter((message) => message === 'ServeMux listening')
        seen.push([before, { code, signal }, listened])
      }
      server.close()
      return seen
    },
  },
  {
    title: 'SIGTERM while it listens',
    expected: { code: null, signal: 'SIGTERM' },
    see: async (t, start) => {
      const { sidecar } = await healthy(t, start)
      const { code, signal } = await sidecar.endBy('SIGTERM')
      return { code, signal }
    },
  },
  {
    title: 'other paths and methods',
    expected: [404, 404, 200, 404],
    see: async (t, start) => {
      const { port } = await healthy(t, start)
      const paths = ['/', '/healthz/', '/healthz?a=b', '/metrics']
      return await Promise.all(paths.map((path) => statusOf(port, path)))
    },
  },
  {
    title: '--http-endpoint with metrics at --metrics-path',
    expected: [200, 200, 404, true],
    see: async (t, start) => {
      const { port } = await healthy(t, start, ['--http-endpoint=127.0.0.1:PORT', '--metrics-path=/m'])
      const metrics = (await get(port, '/m')) as HealthAnswer
      const series = `csi_sidecar_operations_seconds_count{driver_name="${t.driverName}",grpc_status_code="OK",method_name="/csi.v1.Identity/Probe"}`
      return [await statusOf(port), metrics.status, await statusOf(port, '/metrics'), metrics.text.includes(series)]
    },
  },
  {
    title: '--metrics-address with metrics on a separate port',
    expected: [200, 404, 404, 200],
    see: async (t, start) => {
      const port = await freePort()
      const probe = await healthy(t, start, [`--metrics-address=127.0.0.1:${port}`, '--health-port=PORT'])
      const both = (at: number) => Promise.all([statusOf(at, '/healthz'), statusOf(at, '/metrics')])
      return [...(await both(probe.port)), ...(await both(port))]
    },
  },
  {
    title: 'unknown flags and flags that exclude each other',
    expected: [1, 1, 2, 0],
    see: async (t, start) => {
      const { socket } = await t.driver()
      const codes: unknown[] = []
      for (const args of [
        ['--http-endpoint=:1', '--health-port=1'],
        ['--http-endpoint=:1', '--metrics-address=:2'],
        ['--nonsense'],
        ['--help'],
      ]) {
        codes.push((await (await start({ socket, args: [...args] })).sidecar.end()).code)
      }
      return codes
    },
  },
  {
    title: 'a port that another process uses',
    expected: [
      { code: 0, last: 'Failed to start http server' },
      { code: 1, last: 'Failed to start prometheus metrics endpoint on specified address and path' },
    ],
    see: async (t, start) => {
      const { socket } = await t.driver()
      const port = await freePort()
      const other = createServer().listen(port)
      const seen: unknown[] = []
      for (const args of [[`--health-port=${port}`], ['--health-port=PORT', `--metrics-address=:${port}`]]) {
        const probe = await start({ socket, args })
        const { code } = await probe.sidecar.end()
        seen.push({ code, last: messages(probe).at(-1) })
      }
      other.close()
      return seen
    },
  },
]

for (const { title, expected, see } of CASES) {
  test(`with ${title}, the livenessprobe behaves like the Go livenessprobe`, ONE_TARGET, async (t) => {
    await Promise.all(
      SIDES.map(async (side) => {
        equal(await see(t, (setup) => livenessprobe(t, { socket: '', ...setup, side })), expected, side)
      }),
    )
  })
}

test('the livenessprobe listens on all IPv4 and IPv6 addresses', ONE_TARGET, async (t) => {
  const { socket } = await t.driver()
  for (const side of SIDES) {
    const { port } = await livenessprobe(t, { side, socket })
    await listening(port)
    equal((await fetch(`http://[::1]:${port}/healthz`)).status, 200, side)
  }
})

test('the livenessprobe logs the same lines as the Go livenessprobe', { ...ONE_TARGET, long: true }, async (t) => {
  const driver = await t.driver()
  const lines: (readonly string[])[] = []
  for (const side of ['original', 'ours'] as const) {
    const probe = await livenessprobe(t, { side, socket: driver.socket, args: ['--metrics-address=127.0.0.1:0'] })
    await listening(probe.port)
    driver.on('Probe', { reply: { ready: false } })
    await get(probe.port)
    driver.on('Probe', { reply: { ready: true } })
    // The lines are sorted, because the Go sidecar starts its two servers at the same time.
    lines.push([...messages(probe)].sort())
  }
  equal(lines[1], lines[0])
  ok(lines[0]?.includes('Driver responded but is not ready'))
})

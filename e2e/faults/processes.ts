import { equal, ok } from 'node:assert'
import { connect } from 'node:net'
import { pause } from '../harness/waiting.ts'
import type { RunningSidecar, World } from '../harness/world.ts'
import { begin, CAPABILITIES, done, type FaultCase, QUICK, sound, soundLines } from './case.ts'
import { startedScene } from './start.ts'

/** What happens to the process while it works, and leaves it at work. */
const BLOWS: Readonly<Record<string, (sidecar: RunningSidecar) => Promise<void> | void>> = {
  ...Object.fromEntries(
    (['SIGUSR1', 'SIGPIPE', 'SIGWINCH', 'SIGCONT', 'SIGURG'] as const).map((signal) => [
      signal,
      (sidecar: RunningSidecar) => sidecar.signal(signal),
    ]),
  ),
  'a stop of two seconds': async (sidecar) => {
    sidecar.signal('SIGSTOP')
    await pause(2000)
    sidecar.signal('SIGCONT')
  },
  'many short stops': async (sidecar) => {
    for (let times = 0; times < 20; times += 1) {
      sidecar.signal('SIGSTOP')
      await pause(30)
      sidecar.signal('SIGCONT')
      await pause(30)
    }
  },
  'nobody reads its standard error': (sidecar) => void sidecar.process.stderr?.pause(),
  'its standard output is closed': (sidecar) => void sidecar.process.stdout?.destroy(),
  '200 clients that say nothing': (sidecar) => clients(sidecar, ''),
  '200 clients that say noise': (sidecar) => clients(sidecar, '\u0000\u0001\u0002 noise\r\n\r\n'),
  '200 clients that begin a request': (sidecar) => clients(sidecar, 'GET /metrics HTTP/1.1\r\nX: '),
  'a request with endless headers': (sidecar) => clients(sidecar, `GET / HTTP/1.1\r\n${'X: y\r\n'.repeat(5000)}`, 5),
  'a request with two lengths': (sidecar) =>
    clients(sidecar, 'POST /metrics HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab', 5),
}

async function clients(sidecar: RunningSidecar, bytes: string, count = 200): Promise<void> {
  const sockets = Array.from({ length: count }, () => {
    const socket = connect(sidecar.port ?? 0, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write(bytes)
    return socket
  })
  await pause(500)
  equal((await sidecar.http('/livez')).code, 200)
  for (const socket of sockets) socket.destroy()
}

/** Ends it from outside; whoever starts next makes the work whole. */
const ENDS: readonly (readonly ['SIGTERM' | 'SIGINT' | 'SIGKILL', number | null])[] = [
  ['SIGTERM', 0],
  ['SIGINT', 0],
  ['SIGKILL', null],
]

const apps = ['attacher', 'resizer'] as const

export const processCases: readonly FaultCase[] = apps.flatMap((app) => [
  ...Object.entries(BLOWS).map(
    ([what, blow]): FaultCase => ({ app, kind: 'processes', what, tell: (t) => struck(t, blow) }),
  ),
  ...ENDS.flatMap(([signal, code]) =>
    [0, 50, 150, 300, 600].map(
      (ms): FaultCase => ({
        app,
        kind: 'processes',
        what: `${signal} ${ms} ms after the work began`,
        tell: (t) => ended(t, signal, { code, ms }),
      }),
    ),
  ),
])

async function serving(t: World): Promise<{ sidecar: RunningSidecar; node: string }> {
  const scene = await startedScene(t, { args: QUICK, controller: [...CAPABILITIES] })
  await t.watching(scene.sidecar, 'persistentvolumes')
  return scene
}

async function struck(t: World, blow: (sidecar: RunningSidecar) => Promise<void> | void): Promise<void> {
  const { sidecar, node } = await serving(t)
  const blown = Promise.resolve(blow(sidecar))
  await begin(t, node)
  await blown
  await done(t)
  if (sidecar.process.stderr?.isPaused() === true) sidecar.process.stderr.resume()
  await sound(sidecar)
}

async function ended(
  t: World,
  signal: NodeJS.Signals,
  { code, ms }: { readonly code: number | null; readonly ms: number },
): Promise<void> {
  const { sidecar, node } = await serving(t)
  const begun = begin(t, node)
  await pause(ms)
  sidecar.signal(signal)
  const exit = await sidecar.end()
  equal(exit.code, code)
  soundLines(sidecar)
  await begun
  const driver = t.drivers[0]
  ok(driver !== undefined)
  const next = await t.sidecar({ driver, args: QUICK })
  await done(t)
  await sound(next)
}

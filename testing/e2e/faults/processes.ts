import { equal, ok } from 'node:assert'
import type { Socket } from 'node:net'
import { APPS } from '@csi-sidecars/sidecars'
import type { RunningSidecar, TestContext } from '../harness/context.ts'
import { memoryOf } from '../harness/process/memory.ts'
import { connections, MAX_GROWTH_MIB, recovered } from '../harness/process/scraper.ts'
import { sound, soundLines } from '../harness/process/sound.ts'
import { eventually } from '../harness/waiting.ts'
import { scene } from '../rows/work.ts'
import { begin, done, type FaultCase, QUICK } from './case.ts'

/** Disturbances that a running sidecar must survive, by name. */
const BLOWS: Readonly<Record<string, (sidecar: RunningSidecar) => Promise<void> | void>> = {
  ...Object.fromEntries(
    (['SIGUSR1', 'SIGPIPE', 'SIGWINCH', 'SIGCONT', 'SIGURG'] as const).map((signal) => [
      signal,
      (sidecar: RunningSidecar) => sidecar.signal(signal),
    ]),
  ),
  'a stop of two seconds': (sidecar) => sidecar.freeze(2000),
  'many short stops': async (sidecar) => {
    for (let times = 0; times < 20; times += 1) {
      await sidecar.freeze(30)
      await sidecar.http('/livez')
    }
  },
  'no reader of its standard error': (sidecar) => void sidecar.process.stderr?.pause(),
  'its standard output is closed': (sidecar) => void sidecar.process.stdout?.destroy(),
  '200 clients that say nothing': (sidecar) => clients(sidecar, ''),
  '200 clients that say noise': (sidecar) => clients(sidecar, '\u0000\u0001\u0002 noise\r\n\r\n'),
  '200 clients that begin a request': (sidecar) => clients(sidecar, 'GET /metrics HTTP/1.1\r\nX: '),
  'a request with endless headers': (sidecar) => clients(sidecar, `GET / HTTP/1.1\r\n${'X: y\r\n'.repeat(5000)}`, 5),
  'a request with two lengths': (sidecar) =>
    clients(sidecar, 'POST /metrics HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab', 5),
}

async function clients(sidecar: RunningSidecar, bytes: string, count = 200): Promise<void> {
  const before = memoryOf(sidecar.pid).rss
  const sockets = connections(sidecar, count, bytes)
  const isSent = (socket: Socket): boolean => socket.destroyed || (!socket.connecting && socket.writableLength === 0)
  await eventually('sent bytes', () => sockets.every(isSent))
  const during = memoryOf(sidecar.pid).rss
  for (const socket of sockets) socket.destroy()
  await recovered(sidecar, '/livez')
  ok(during - before < MAX_GROWTH_MIB, `from ${before} to ${during} MiB`)
}

/** Signals that end the process, with the expected exit codes. The next process must complete the work. */
const ENDS: readonly (readonly ['SIGTERM' | 'SIGINT' | 'SIGKILL', number | null])[] = [
  ['SIGTERM', 0],
  ['SIGINT', 0],
  ['SIGKILL', null],
]

export const processCases: readonly FaultCase[] = APPS.flatMap((app) => [
  ...Object.entries(BLOWS).map(
    ([fault, blow]): FaultCase => ({ app, kind: 'processes', fault, run: (t) => withDisturbance(t, blow) }),
  ),
  ...ENDS.flatMap(([signal, code]) =>
    [0, 1, 2, 3, 4].map(
      (count): FaultCase => ({
        app,
        kind: 'processes',
        fault: `${signal} after ${count} requests of the work`,
        run: (t) => ended(t, signal, { code, count }),
      }),
    ),
  ),
])

async function withDisturbance(t: TestContext, blow: (sidecar: RunningSidecar) => Promise<void> | void): Promise<void> {
  const { sidecar } = await scene(t, { args: QUICK, watches: ['persistentvolumes'] })
  const blown = Promise.resolve(blow(sidecar))
  await begin(t)
  await blown
  await done(t)
  if (sidecar.process.stderr?.isPaused() === true) sidecar.process.stderr.resume()
  await sound(sidecar)
}

async function ended(
  t: TestContext,
  signal: NodeJS.Signals,
  { code, count }: { readonly code: number | null; readonly count: number },
): Promise<void> {
  const { sidecar, driver } = await scene(t, { args: QUICK, watches: ['persistentvolumes'] })
  const { length } = sidecar.gate.requests
  const begun = begin(t)
  await eventually(`${count} requests`, () => sidecar.gate.requests.length >= length + count, { every: 1 })
  const exit = await sidecar.endBy(signal)
  equal(exit.code, code)
  soundLines(sidecar)
  await begun
  const next = await t.sidecar({ driver, args: QUICK })
  await done(t)
  await sound(next)
}

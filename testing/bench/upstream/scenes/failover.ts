import type { App } from '../../../e2e/harness/subject.ts'
import { pause } from '../../../e2e/harness/waiting.ts'
import type { Ground } from '../ground.ts'
import { type Bench, type BenchScene, interleaved } from '../scene.ts'
import { APPS, type Side } from '../side.ts'
import type { Subject } from '../subject.ts'
import { giveWork, prepareWork, warmUp, workCalls } from '../work.ts'

const STANDBY_MS = 4000
const WORK_EVERY_MS = 250
const WITHIN_MS = 60_000
const SIGNALS = ['SIGTERM', 'SIGKILL'] as const

export const failover: BenchScene = {
  name: 'failover',
  title: 'Failover gap',
  conditions:
    'Two replicas with a driver each, election with its default times. The leader gets the signal and work ' +
    'arrives from then on; counted until the first call of the other replica. Both sidecars and both signals at the same time, since nearly all of it is waiting.',
  async run(bench) {
    await using ground = await bench.ground()
    await interleaved(bench, async (side, round) => {
      const cases = APPS.flatMap((app) => SIGNALS.map((signal) => ({ app, side, round, signal })))
      await Promise.all(cases.map((each) => gap(bench, ground, each)))
    })
  },
}

interface Case {
  readonly app: App
  readonly side: Side
  readonly round: number
  readonly signal: (typeof SIGNALS)[number]
}

async function gap({ figures }: Bench, ground: Ground, { app, side, round, signal }: Case): Promise<void> {
  const driverName = `${side}-${round}.${signal.toLowerCase()}.example.com`
  await prepareWork(ground, app, driverName)
  const first = await replica(ground, { app, side, driverName, hostname: 'first' })
  await warmUp(ground, first)
  const second = await replica(ground, { app, side, driverName, hostname: 'second' })
  await pause(STANDBY_MS)
  first.sidecar.signal(signal)
  const signalled = Date.now()
  const call = await firstCall(ground, second, `${app}-${driverName}`)
  figures.note(app, side, { [`${signal} to the next leader's first call (s)`]: (call - signalled) / 1000 })
  await Promise.all([first.kill(), second.kill()])
}

async function replica(
  ground: Ground,
  { app, side, driverName, hostname }: { app: App; side: Side; driverName: string; hostname: string },
): Promise<Subject> {
  const driver = await ground.driver(driverName)
  return await ground.start({ side, app, driver, hostname })
}

/** When it comes, while more and more work waits: a leader that is stopping may still take some of it. */
async function firstCall(ground: Ground, subject: Subject, name: string): Promise<number> {
  let given = 0
  const end = Date.now() + WITHIN_MS
  while (Date.now() < end) {
    const [call] = workCalls(subject.app, subject.driver)
    if (call !== undefined) return call.start
    subject.mustRun()
    given += 1
    await giveWork(ground, subject, `${name}-${given}`)
    await pause(WORK_EVERY_MS)
  }
  throw new Error(`${subject.side} ${subject.app}: no call within ${WITHIN_MS / 1000} s`)
}

import type { TestedApp } from '../../../e2e/harness/subject.ts'
import { eventually, pause } from '../../../e2e/harness/waiting.ts'
import { APPS, type Side } from '../figures.ts'
import { type Bench, type BenchScene, type BenchServer, interleaved } from '../ground.ts'
import type { Measured } from '../subject.ts'
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
  readonly app: TestedApp
  readonly side: Side
  readonly round: number
  readonly signal: (typeof SIGNALS)[number]
}

async function gap({ figures }: Bench, ground: BenchServer, { app, side, round, signal }: Case): Promise<void> {
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
  ground: BenchServer,
  { app, side, driverName, hostname }: { app: TestedApp; side: Side; driverName: string; hostname: string },
): Promise<Measured> {
  const driver = await ground.driver(driverName)
  return await ground.start({ side, app, driver, hostname })
}

/** Creates objects until the driver receives the first CSI call, and returns the time of that call. */
async function firstCall(ground: BenchServer, subject: Measured, name: string): Promise<number> {
  let attempts = 0
  const end = Date.now() + WITHIN_MS
  while (Date.now() < end) {
    const [call] = workCalls(subject.app, subject.driver)
    if (call !== undefined) return call.start
    subject.mustRun()
    attempts += 1
    await giveWork(ground, subject, `${name}-${attempts}`)
    await pause(WORK_EVERY_MS)
  }
  throw new Error(`${subject.side} ${subject.app}: no call within ${WITHIN_MS / 1000} s`)
}

const AWAY_MS = 3000
/** Each round lengthens the driver's outage by this time, so that it does not always match a retry interval. */
const AWAY_LONGER_MS = 300
/** The delays before the kubelet restarts a container the first, second, third and fourth time. */
const RESTART_MS = [1000, 10_000, 20_000, 40_000]

export const driverRestart: BenchScene = {
  name: 'driver-restart',
  title: `Driver away for ${AWAY_MS / 1000} s`,
  conditions:
    `Work arrives while the driver is away, each round ${AWAY_LONGER_MS} ms longer; counted from its return to the ` +
    'first call. Ours stays. The Go sidecar ' +
    `ends with its driver and is started again as the kubelet does: after ${RESTART_MS[0]} ms the first time, then ` +
    'after 10, 20 and 40 s. Both sidecars at the same time.',
  async run(bench) {
    await using ground = await bench.ground()
    await interleaved(bench, async (side, round) => {
      await Promise.all(APPS.map((app) => restart(bench, ground, { app, side, round })))
    })
  },
}

async function restart(
  { figures }: Bench,
  ground: BenchServer,
  { app, side, round }: { app: TestedApp; side: Side; round: number },
): Promise<void> {
  const driver = await ground.driver(`${side}-${round}.restart.example.com`)
  await prepareWork(ground, app, driver.name)
  await using kubelet = await Kubelet.start(() => ground.start({ side, app, driver }))
  await warmUp(ground, kubelet.subject)
  driver.kill()
  const callsBefore = workCalls(app, driver).length
  const [, back] = await Promise.all([
    giveWork(ground, kubelet.subject, `${app}-${driver.name}`),
    pause(AWAY_MS + (round - 1) * AWAY_LONGER_MS).then(async () => {
      await driver.start()
      return Date.now()
    }),
  ])
  const next = await eventually('a call', () => workCalls(app, driver)[callsBefore], { within: 90_000, every: 5 })
  figures.note(app, side, {
    'return to first call (s)': (next.start - back) / 1000,
    restarts: kubelet.restarts,
  })
}

/** Runs a sidecar as the kubelet does: restarts it with back-off whenever it ends. */
class Kubelet implements AsyncDisposable {
  subject: Measured
  restarts = 0
  readonly #start: () => Promise<Measured>
  readonly #stopping = new AbortController()
  readonly #kept: Promise<void>

  private constructor(subject: Measured, start: () => Promise<Measured>) {
    this.subject = subject
    this.#start = start
    this.#kept = this.#keepRunning()
  }

  static async start(start: () => Promise<Measured>): Promise<Kubelet> {
    return new Kubelet(await start(), start)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort()
    await this.subject.kill()
    await this.#kept
  }

  async #keepRunning(): Promise<void> {
    const { signal } = this.#stopping
    for (;;) {
      await this.subject.sidecar.exited
      const delay = RESTART_MS[Math.min(this.restarts, RESTART_MS.length - 1)]
      await pause(delay, undefined, { signal }).catch(() => undefined) // rejects only if aborted
      if (signal.aborted) return
      this.restarts += 1
      this.subject = await this.#start()
    }
  }
}

import type { TestedApp } from '../../../e2e/harness/subject.ts'
import { pause } from '../../../e2e/harness/waiting.ts'
import { APPS, SIDES, type Side } from '../figures.ts'
import { type Bench, type BenchScene, type BenchServer, interleaved } from '../ground.ts'
import type { Measured, NotedRequest } from '../subject.ts'

const START_MS = 3000
const QUIET_MS = 10_000
const MINUTE_MS = 60_000

/** Measures the start of leading sidecars without work, and their cost for one minute. */
export const idle: BenchScene = {
  name: 'idle',
  title: 'Idle, on an empty API',
  conditions: 'Starts are measured one by one; then all four run side by side for a minute that is counted.',
  async run(bench) {
    await using ground = await bench.ground()
    await interleaved(bench, async (side, round) => {
      for (const app of APPS) await start(bench, ground, { app, side, round })
    })
    bench.printLine('  a minute of all four')
    await minute(bench, ground)
  },
}

async function start(
  { figures }: Bench,
  ground: BenchServer,
  who: { app: TestedApp; side: Side; round: number },
): Promise<void> {
  const { app, side, round } = who
  const driver = await ground.driver(`${side}-${round}.start.example.com`)
  const subject = await ground.start({ side, app, driver })
  await pause(START_MS)
  await subject.stop()
  figures.note(app, side, await startTimes(subject))
}

/** Returns the times from a sidecar's start to its Lease and to its first watch. The sidecar must have ended. */
async function startTimes(subject: Measured): Promise<Readonly<Record<string, number>>> {
  const { side, app, sidecar } = subject
  const requests = await subject.requests()
  const after = (matches: (request: NotedRequest) => boolean): number => {
    const times = requests.filter((request) => matches(request) && request.code < 300).map(({ time }) => time)
    if (times.length === 0) throw new Error(`${side} ${app} neither led nor watched before it was stopped`)
    return Math.min(...times) - sidecar.started
  }
  return {
    'exec to first watch (ms)': after(({ verb, resource }) => verb === 'watch' && resource !== 'leases'),
    'exec to lease written (ms)': after(({ verb, resource }) => verb === 'create' && resource === 'leases'),
  }
}

async function minute({ figures }: Bench, ground: BenchServer): Promise<void> {
  const subjects = []
  for (const app of APPS) {
    for (const side of SIDES) {
      const driver = await ground.driver(`${side}.idle.example.com`)
      subjects.push(await ground.start({ side, app, driver }))
    }
  }
  await pause(QUIET_MS)
  const before = subjects.map((subject) => subject.cost())
  const from = Date.now()
  await pause(MINUTE_MS)
  const to = Date.now()
  for (const [index, subject] of subjects.entries()) {
    const { rss, anonymous, cpuSeconds } = subject.cost()
    const requests = await subject.requests()
    figures.note(subject.app, subject.side, {
      'RSS (MiB)': rss,
      'of it anonymous (MiB)': anonymous,
      'CPU per minute (s)': cpuSeconds - (before[index]?.cpuSeconds ?? Number.NaN),
      'requests per minute': requests.filter(({ time }) => time >= from && time < to).length,
    })
  }
}

// Built executables under faults. Every case is a row of a table; how often a fault strikes, and in which order cases run, follow from the seed.
import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { systemClock } from '@csi-sidecars/base'
import { COUNT, NUMBER, Progress, readArguments } from '@csi-sidecars/testkit'
import { startEmulated } from '../harness/emulated.ts'
import { grant } from '../harness/roles.ts'
import { run } from '../harness/runner.ts'
import type { Story } from '../harness/story.ts'
import { answerCases } from './answers.ts'
import type { FaultCase } from './case.ts'
import { driverCases } from './drivers.ts'
import { frameCases } from './frames.ts'
import { leaseCases } from './leases.ts'
import { processCases } from './processes.ts'
import { chanceOf, copied, numberOf } from './seeded.ts'
import { tlsCases } from './tls.ts'

const { values } = readArguments(
  'npm run faults -- [--seed N] [--grep TEXT] [--concurrency N] [--list]',
  {
    options: {
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      grep: { type: 'string', multiple: true, default: [] },
      concurrency: { type: 'string', default: '4' },
      list: { type: 'boolean', default: false },
    },
  },
  { seed: NUMBER, concurrency: COUNT },
)

const root = resolve(import.meta.dirname, '../..')
const say = (line: string): void => {
  process.stdout.write(`${line}\n`)
}
const cases = [answerCases, frameCases, leaseCases, driverCases, tlsCases, processCases].flat()

process.exitCode = await main(Number(values.seed))

async function main(seed: number): Promise<number> {
  const stories = cases
    .map((each) => storyOf(each, seed))
    .filter(({ title }) => values.grep.every((text) => title.includes(text)))
    .toSorted((a, b) => numberOf(seed, a.title) - numberOf(seed, b.title))
  if (values.list) {
    for (const { title } of stories) say(title)
    say(`${stories.length} cases`)
    return 0
  }
  const executables = copied(root)
  const reports = join(root, '.cache', 'e2e', `faults-${seed}`)
  mkdirSync(reports, { recursive: true })
  const cluster = await startEmulated()
  try {
    await grant(cluster.api)
    const common = { checks: [], target: 'emulator', binaries: 'ours', executables, originals: executables } as const
    const concurrency = Number(values.concurrency)
    const progress = new Progress(stories.length, process.stdout, systemClock)
    const { passed, failed } = await run({ ...common, stories, cluster, concurrency, reports, progress })
    progress.stop()
    say(`${passed} held, ${failed} did not; again with --seed ${seed}`)
    return failed === 0 && passed > 0 ? 0 : 1
  } finally {
    await cluster.stop()
  }
}

function storyOf({ app, kind, what, tell }: FaultCase, seed: number): Story {
  const title = `${app}, ${kind}: ${what}`
  return { app, title, tell: (t) => tell(t, chanceOf(seed, title)) }
}

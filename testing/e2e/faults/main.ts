// Runs the built executables under injected faults. The seed determines how often a fault occurs, and the order of the
// cases.
import { join, resolve } from 'node:path'
import { systemClock } from '@csi-sidecars/base'
import { COUNT, NUMBER, Progress, readArguments } from '@csi-sidecars/command'
import { seeded } from '@csi-sidecars/disturb'
import { openCluster } from '../harness/api/open-cluster.ts'
import { copied } from '../harness/programs/binaries.ts'
import { runAll, type Tally } from '../harness/runner.ts'
import type { EndToEndTest } from '../harness/test.ts'
import { answerCases, frameCases } from './answers.ts'
import type { FaultCase } from './case.ts'
import { driverCases } from './drivers.ts'
import { leaseCases } from './leases.ts'
import { processCases } from './processes.ts'
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

const root = resolve(import.meta.dirname, '../../..')
const printLine = (line: string): void => {
  process.stdout.write(`${line}\n`)
}
const cases = [answerCases, frameCases, leaseCases, driverCases, tlsCases, processCases].flat()

process.exitCode = await main(Number(values.seed))

async function main(seed: number): Promise<number> {
  const tests = cases
    .map((each) => testOf(each, seed))
    .filter(({ title }) => values.grep.every((text) => title.includes(text)))
    .toSorted((a, b) => seeded(seed, a.title)() - seeded(seed, b.title)())
  if (values.list) {
    for (const { title } of tests) printLine(title)
    printLine(`${tests.length} cases`)
    return 0
  }
  const executables = copied(root)
  const reports = join(root, '.cache', 'e2e', `faults-${seed}`)
  await using lane = await openCluster(root, 'emulator', reports)
  const common = { checks: [], target: 'emulator', binaries: 'ours', executables } as const
  const progress = new Progress(tests.length, process.stdout, systemClock)
  const tally: Tally = { passed: 0, failed: [], absent: 0 }
  const { cluster } = lane
  await runAll(
    [{ ...common, tests, cluster, clusterOfAlone: cluster, reports, progress, tally }],
    Number(values.concurrency),
  )
  progress.stop()
  const { passed } = tally
  const failed = tally.failed.length
  printLine(`${passed} passed, ${failed} failed; repeat with --seed ${seed}`)
  return failed === 0 && passed > 0 ? 0 : 1
}

function testOf({ app, kind, fault, run }: FaultCase, seed: number): EndToEndTest {
  const title = `${app}, ${kind}: ${fault}`
  return { app, title, run: (t) => run(t, seeded(seed, title)) }
}

// Both sidecars between an API server and a driver of which anything may fail, and a look at what is left. All that happens follows from the seed.
import { join, resolve } from 'node:path'
import { runSeeds, SEEDS, seedsOf, type Verdict } from '@csi-sidecars/disturb'
import { COUNT, readArguments } from '@csi-sidecars/testkit'
import type { Cluster } from '../harness/api/cluster.ts'
import { errorText, TestContext } from '../harness/context.ts'
import { temporaryFolder } from '../harness/process/processes.ts'
import { briefly } from '../model/overlaps.ts'
import { copied } from '../tools/copied.ts'
import { openCluster, targetOf } from '../tools/open-cluster.ts'
import { Storm, type StormResult } from './storm.ts'

const { values } = readArguments(
  'npm run storm -- [--seeds 1-10] [--target emulator|real] [--seconds 60] [--objects 200]',
  {
    options: {
      seeds: { type: 'string', default: '1-10' },
      target: { type: 'string', default: 'emulator' },
      seconds: { type: 'string', default: '60' },
      objects: { type: 'string', default: '200' },
    },
  },
  { seeds: SEEDS, target: /^(emulator|real)$/, seconds: COUNT, objects: COUNT },
)

const root = resolve(import.meta.dirname, '../../..')
const target = targetOf(values.target)
const executables = copied(root)
const reports = join(root, '.cache', 'e2e', 'storm')
const say = (line: string): void => {
  process.stdout.write(`${line}\n`)
}

process.exitCode = await main()

async function main(): Promise<number> {
  await using lane = await openCluster(root, target, reports)
  const again = (seed: number): string =>
    `npm run storm -- --seeds ${seed} --target ${target} --seconds ${values.seconds} --objects ${values.objects}`
  const run = (seed: number): Promise<Verdict> => storm(lane.cluster, seed)
  return (await runSeeds(seedsOf('seeds', values.seeds), { run, say, title: target, again })) ? 0 : 1
}

async function storm(cluster: Cluster, seed: number): Promise<Verdict> {
  const folder = temporaryFolder('storm')
  const common = { app: 'attacher', binaries: 'ours', executables, originals: executables, folder } as const
  const t = new TestContext({ ...common, cluster, target, id: `storm-${seed}` })
  const options = { seed, seconds: Number(values.seconds), objects: Number(values.objects) }
  const report = (error: unknown): string => {
    const place = join(reports, `${target}-${seed}`)
    t.report(place, error)
    return `the logs of all sides are in ${place}`
  }
  try {
    const result = await new Storm(t, options).run()
    const { findings, calls } = result
    const appendix = findings.length === 0 ? [] : [report(findings.map(({ text }) => text).join('\n'))]
    const details = ({ about }: { about?: string }): string[] =>
      calls.filter(({ request }) => request['volume_id'] === about).map(briefly)
    return { findings, summary: summaryOf(result), details, appendix }
  } catch (error) {
    const finding = { rule: 'the storm can be run', text: errorText(error) }
    return { findings: [finding], summary: 'failed', appendix: [report(error)] }
  } finally {
    await t.close()
  }
}

function summaryOf({ calls, requestsFailed, disturbed, settledMs }: StormResult): string {
  const failed = calls.filter(({ code }) => code !== 0).length
  const settled = `settled after ${(settledMs / 1000).toFixed(1)} s`
  return `${calls.length} calls, ${failed} failed; ${requestsFailed} requests failed; ${disturbed} kills and cuts; ${settled}`
}

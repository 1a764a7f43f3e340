// Both sidecars between an API
// server and a driver of which anything may fail, and a look at what is left. All that happens follows from the seed.
import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { COUNT, readArguments } from '@csi-sidecars/testkit'
import { copied } from '../faults/seeded.ts'
import type { Cluster } from '../harness/cluster.ts'
import { startControlPlane } from '../harness/control-plane.ts'
import { startEmulated } from '../harness/emulated.ts'
import { temporaryFolder } from '../harness/processes.ts'
import { grant } from '../harness/roles.ts'
import type { Target } from '../harness/subject.ts'
import { errorText, World } from '../harness/world.ts'
import { controlPlaneBinaries } from '../tools/binaries.ts'
import { briefly } from './overlaps.ts'
import { Storm, type Verdict } from './storm.ts'

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
  { seeds: /^\d+(-\d+)?$/, target: /^(emulator|real)$/, seconds: COUNT, objects: COUNT },
)

/** Of so many findings a seed tells; the rest is in its folder. */
const FINDINGS_TOLD = 10
const root = resolve(import.meta.dirname, '../..')
const executables = copied(root)
const reports = join(root, '.cache', 'e2e', 'storm')
const say = (line: string): void => {
  process.stdout.write(`${line}\n`)
}

process.exitCode = await main(targetOf(values.target), seedsOf(values.seeds))

async function main(target: Target, seeds: readonly number[]): Promise<number> {
  mkdirSync(reports, { recursive: true })
  const cluster = await open(target)
  let failed = 0
  try {
    await grant(cluster.api)
    for (const seed of seeds) if (!(await holds({ cluster, target, seed }))) failed += 1
  } finally {
    await cluster.stop()
  }
  say(`${seeds.length - failed} passed, ${failed} failed`)
  return failed === 0 && seeds.length > 0 ? 0 : 1
}

async function holds(at: { cluster: Cluster; target: Target; seed: number }): Promise<boolean> {
  const { seed, target } = at
  const folder = temporaryFolder('storm')
  const common = { app: 'attacher', binaries: 'ours', executables, originals: executables, folder } as const
  const t = new World({ ...common, ...at, id: `storm-${seed}` })
  const options = { seed, seconds: Number(values.seconds), objects: Number(values.objects) }
  try {
    const verdict = await new Storm(t, options).run()
    const { findings } = verdict
    const held = findings.length === 0
    say(`${held ? 'ok  ' : 'FAIL'} ${target} seed ${seed}: ${summaryOf(verdict)}`)
    if (!held) tell(verdict)
    if (!held) t.report(join(reports, `${target}-${seed}`), findings.map(({ text }) => text).join('\n'))
    return held
  } catch (error) {
    say(`FAIL ${target} seed ${seed}: ${errorText(error)}`)
    t.report(join(reports, `${target}-${seed}`), error)
    return false
  } finally {
    await t.close()
  }
}

function summaryOf({ calls, requestsFailed, disturbed, settledMs }: Verdict): string {
  const failed = calls.filter(({ code }) => code !== 0).length
  const settled = `settled after ${(settledMs / 1000).toFixed(1)} s`
  return `${calls.length} calls, ${failed} failed; ${requestsFailed} requests failed; ${disturbed} kills and cuts; ${settled}`
}

/** What differs, and the calls of the volume. */
function tell({ findings, calls }: Verdict): void {
  const ofVolumesFirst = findings.toSorted((a, b) => Number(a.handle === undefined) - Number(b.handle === undefined))
  for (const { text, handle } of ofVolumesFirst.slice(0, FINDINGS_TOLD)) {
    say(`     ${text}`)
    for (const call of calls) if (call.request['volume_id'] === handle) say(`       ${briefly(call)}`)
  }
  if (findings.length > FINDINGS_TOLD) say(`     and ${findings.length - FINDINGS_TOLD} more`)
  say(`     the logs of all sides are in ${reports}`)
}

async function open(target: Target): Promise<Cluster> {
  if (target === 'emulator') return await startEmulated()
  const assets = controlPlaneBinaries(root)
  if ('remedy' in assets) throw new Error(assets.remedy)
  return await startControlPlane({ binaries: assets.folder, logs: reports })
}

function targetOf(text: string): Target {
  if (text === 'real' || text === 'emulator') return text
  throw new Error(`--target is real or emulator, not ${text}`)
}

/** `3`, or `1-10`. */
function seedsOf(text: string): readonly number[] {
  const [first = Number.NaN, last = first] = text.split('-').map(Number)
  if (!(first <= last)) throw new Error(`--seeds is a number or two with a dash between them, not ${text}`)
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}

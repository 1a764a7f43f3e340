import { copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import process from 'node:process'
import { systemClock } from '@csi-sidecars/base'
import { Progress, readArguments } from '@csi-sidecars/command'
import { errorText } from '../e2e/harness/context.ts'
import { temporaryFolder } from '../e2e/harness/process/processes.ts'
import {
  build,
  cacheFolder,
  controlPlaneBinaries,
  controlPlaneFolder,
  hasGo,
  originals,
} from '../e2e/harness/programs/binaries.ts'
import { bySubject, SUBJECTS } from '../e2e/harness/subject.ts'
import { type ComparedExecutables, Figures, type Side } from './upstream/figures.ts'
import { type Bench, type BenchScene, BenchServer } from './upstream/ground.ts'
import { conditionsOf, measuredText, moment, type SceneOutcome, section, writeSection } from './upstream/results.ts'
import { busy } from './upstream/scenes/busy.ts'
import { failing, starvation } from './upstream/scenes/failing.ts'
import { idle } from './upstream/scenes/idle.ts'
import { loaded } from './upstream/scenes/loaded.ts'
import { overload } from './upstream/scenes/overload.ts'
import { wholePod } from './upstream/scenes/pod.ts'
import { provisionLoaded, provisionStorm, provisionStormDefaults } from './upstream/scenes/provision.ts'
import { driverRestart, failover } from './upstream/scenes/restarts.ts'
import { snapshotLoaded, snapshotStorm, snapshotStormDefaults } from './upstream/scenes/snapshot.ts'
import { attachStorm, attachStormDefaults, resizeStorm, resizeStormDefaults } from './upstream/scenes/storm.ts'

const SCENES: readonly BenchScene[] = [
  idle,
  loaded,
  busy,
  attachStorm,
  attachStormDefaults,
  starvation,
  resizeStorm,
  resizeStormDefaults,
  provisionStorm,
  provisionStormDefaults,
  provisionLoaded,
  overload,
  snapshotStorm,
  snapshotStormDefaults,
  snapshotLoaded,
  failover,
  driverRestart,
  wholePod,
  failing,
]

/** The least number of rounds for which the figures are written to RESULTS.md. */
const MIN_ROUNDS = 3

const USAGE = 'npm run bench -- [--only idle] [--rounds 1] [--scale 0.1] [--profiles DIR]'
const root = resolve(import.meta.dirname, '../..')

process.exitCode = await main()

/**
 * Runs the benchmarks in sequence and returns the exit code. Writes the results of each full-size benchmark to
 * testing/bench/RESULTS.md before the next benchmark begins.
 */
async function main(): Promise<number> {
  const { values } = readArguments(USAGE, {
    options: {
      only: { type: 'string', multiple: true, default: [] },
      rounds: { type: 'string', default: '3' },
      scale: { type: 'string', default: '1' },
      profiles: { type: 'string' },
    },
  })
  const { only } = values
  const profiles = values.profiles === undefined ? undefined : resolve(values.profiles)
  const [rounds, scale] = [Number(values.rounds), Number(values.scale)]
  if (!Number.isInteger(rounds) || rounds < 1) return refuse(`--rounds is a number from 1 on, not ${values.rounds}`)
  if (!(scale > 0 && scale <= 10)) return refuse(`--scale is above 0 and at most 10, not ${values.scale}`)
  const unknown = only.filter((name) => !SCENES.some((scene) => scene.name === name))
  if (unknown.length > 0) {
    return refuse(`no scene ${unknown.join(', ')}; there are ${SCENES.map(({ name }) => name).join(', ')}`)
  }
  const scenes = SCENES.filter(({ name }) => only.length === 0 || only.includes(name))
  const ground = prepare(profiles)
  if ('remedy' in ground) return refuse(ground.remedy)
  const { binaries, executables } = ground
  const progress = new Progress(scenes.length, process.stdout, systemClock)
  const printLine = (line: string): void => progress.printLine(line)
  const conditions = conditionsOf(binaries, ground.measured)
  const logs = join(root, '.cache', 'bench')
  rmSync(logs, { recursive: true, force: true })
  const keeps = scale === 1 && profiles === undefined && rounds >= MIN_ROUNDS
  let failed = 0
  for (const scene of scenes) {
    const bench: Omit<Bench, 'figures'> = {
      rounds,
      printLine,
      sized: (count) => Math.max(2, Math.round(count * scale)),
      ground: () => BenchServer.open({ binaries, executables, logs: join(logs, scene.name), profiles }),
    }
    progress.begin(scene.name)
    const begun = moment()
    const outcome = await play(scene, bench)
    progress.end(scene.name)
    const text = section(outcome, measuredText(conditions, begun, rounds))
    printLine(`${text}\n\n(${outcome.seconds.toFixed(0)} s)\n`)
    if (outcome.failure !== undefined) failed += 1
    else if (keeps) writeSection(join(root, 'testing', 'bench', 'RESULTS.md'), text, SCENES)
  }
  printLine(`${scenes.length - failed} scenes measured, ${failed} failed; logs in ${logs}`)
  return failed === 0 ? 0 : 1
}

async function play(scene: BenchScene, bench: Omit<Bench, 'figures'>): Promise<SceneOutcome> {
  bench.printLine(`${scene.name}: ${scene.title}`)
  const figures = new Figures()
  const started = performance.now()
  let failure: string | undefined
  try {
    await scene.run({ ...bench, figures })
  } catch (error) {
    failure = errorText(error instanceof SuppressedError ? error.suppressed : error).split('\n')[0]
    bench.printLine(errorText(error))
  }
  return { scene, rows: figures.rows, seconds: (performance.now() - started) / 1000, failure }
}

/** Finds or builds all executables. Copies the measured executables, so that a concurrent build cannot change them. */
function prepare(
  profiles: string | undefined,
): { binaries: string; executables: ComparedExecutables; measured: ComparedExecutables } | { remedy: string } {
  const assets = controlPlaneBinaries(root)
  if ('remedy' in assets) return assets
  if (hasGo()) for (const { value } of SUBJECTS) build(root, value.name)
  const dist = (app: string): string => join(root, 'apps', app, 'dist', `csi-${app}`)
  const found: ComparedExecutables = {
    ours: { ...bySubject(dist), both: dist('sidecars') },
    original: originals(root),
  }
  const needed: readonly string[] = [...Object.values(found.ours), ...Object.values(found.original)]
  const missing = needed.find((file) => !existsSync(file))
  if (missing !== undefined) {
    const inCache = [cacheFolder(root), controlPlaneFolder(root)].some((folder) => missing.startsWith(folder))
    return { remedy: `${missing} is missing: ${inCache ? 'install Go 1.26 (https://go.dev/dl)' : 'npm run build'}` }
  }
  const folder = temporaryFolder('executables')
  const copy = (side: Side, from: string): string => {
    const to = join(folder, side, basename(from))
    mkdirSync(join(folder, side), { recursive: true })
    copyFileSync(from, to)
    return to
  }
  const measured: ComparedExecutables = {
    ours: { ...bySubject((app) => copy('ours', found.ours[app])), both: copy('ours', found.ours.both) },
    original: bySubject((app) => copy('original', found.original[app])),
  }
  if (profiles === undefined) return { binaries: assets.folder, executables: measured, measured }
  mkdirSync(profiles, { recursive: true })
  // The bundles are not copied, because CPU profiles refer to them by path.
  const bundles = { ...bySubject((app) => `${found.ours[app]}.mjs`), both: `${found.ours.both}.mjs` }
  return { binaries: assets.folder, executables: { ...measured, ours: bundles }, measured }
}

function refuse(reason: string): number {
  process.stderr.write(`${reason}\n`)
  return 2
}

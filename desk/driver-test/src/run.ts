import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { isAbort, messageOf, scope } from '@csi-sidecars/base'
import { type RunParts, type SidecarPaths, sidecarBinaries, sidecarsIn } from '@csi-sidecars/devcluster'
import { runSeeds } from '@csi-sidecars/disturb'
import { openDriver } from '@csi-sidecars/volume-controllers'
import { learnAbilities } from './driver/abilities.ts'
import { type OwnDriverProcess, refuseServed, startDriverProcesses } from './driver/driver-process.ts'
import { removeFolder } from './driver/mounts.ts'
import { openOwnNodes } from './driver/nodes.ts'
import { EarlyFindings } from './early.ts'
import { checkReportFile, csiDriverOf, refuseOther } from './files.ts'
import { againLine, type DriverTestOptions } from './options.ts'
import { ProgressPrinter } from './progress.ts'
import { isGood, junitOf, markdownOf, type TestReport } from './report.ts'
import { runSeed, type SeedProgress, type SeedResult } from './seed.ts'
import { comparisonOf, remainingText, verdictLines, verdictOf } from './verdict.ts'

const PREFIX = 'csi-devcluster-'
/** The exit code of a run that was interrupted. */
const INTERRUPTED = 130

/** Tests the driver with all seeds, and writes the reports. Returns the exit code. */
export async function runDriverTest(options: DriverTestOptions, deps: RunParts, signal: AbortSignal): Promise<number> {
  const { write, style } = deps.terminal
  const directory = await mkdtemp(join(tmpdir(), PREFIX))
  const ours = new Map([[directory, 'What was logged is']])
  let code = 2
  try {
    const data = options.data === undefined ? directory : await mkdtemp(join(resolve(options.data), PREFIX))
    if (data !== directory) ours.set(data, 'The folders of the nodes are')
    code = await test(options, { ...deps, directory, data }, signal)
  } catch (error) {
    if (signal.aborted && isAbort(error)) code = INTERRUPTED
    else write(`${style.bad('Failed:')} ${messageOf(error)}\n`)
  }
  const needed = code !== 0 && code !== INTERRUPTED
  for (const [folder, purpose] of ours) {
    if (needed || !(await removeFolder(folder))) write(`${purpose} in ${folder}\n`)
  }
  return code
}

interface TestParts extends RunParts {
  readonly directory: string
  /** The folder for the folders of the nodes. The test has created it, so the test may remove it. */
  readonly data: string
}

async function test(options: DriverTestOptions, deps: TestParts, signal: AbortSignal): Promise<number> {
  const { directory, clock, terminal } = deps
  const { write, style } = terminal
  const { driver: address } = options
  const csiDriver = await csiDriverOf(options.csiDriverFile)
  await checkReportFile('report', options.junit)
  await checkReportFile('markdown', options.markdown)
  if (options.driverCommands.length > 0) await refuseServed([address, ...options.nodeSockets])
  const log = deps.openLog(join(directory, 'devcluster.log'))
  await using stack = new AsyncDisposableStack()
  const early = new EarlyFindings(clock)
  const ownDriver = await startOwn(options, { ...deps, log }, { stack, early })
  const results: SeedResult[] = []
  const endEarly = async (driver: string, why: string): Promise<number> => {
    results.push(...early.results())
    write(verdictLines(results, againLine(options)).join(''))
    await writeReports(options, { driver, address, leftOut: [why], results, again: () => againLine(options) })
    return 1
  }
  /** Returns the error message if an early finding already explains the error. Otherwise throws the error. */
  const unlessEnded = (error: unknown): string => {
    if (!early.any || signal.aborted) throw error
    return messageOf(error)
  }
  const direct = await openDriver({ address, clock, log, signal, services: 'controller' }).catch(unlessEnded)
  if (typeof direct === 'string') return await endEarly('driver', direct)
  stack.defer(() => direct.close())
  refuseOther(csiDriver, direct.name)
  const nodeParts = { name: direct.name, clock, log, stack }
  const ownNodes = await openOwnNodes(options.nodeSockets, nodeParts, signal).catch(unlessEnded)
  if (typeof ownNodes === 'string') return await endEarly(direct.name, ownNodes)
  const asked = {
    ...options,
    address,
    ownNodes,
    crash: ownDriver !== undefined,
    csiDriver,
    clock,
    ...early.probeCallbacks,
  }
  const abilities = await learnAbilities(direct, asked, signal).catch(unlessEnded)
  if (typeof abilities === 'string') return await endEarly(direct.name, abilities)
  results.push(...early.results())
  write(`Driver ${direct.name} at ${address}, with ${abilities.nodes.map(({ nodeId }) => nodeId).join(', ')}\n`)
  for (const text of abilities.leftOut) write(`  left out: ${text}\n`)
  write(verdictLines(results, againLine(options)).join(''))
  const again = (seed?: number): string => againLine(options, seed)
  const report: TestReport = { driver: direct.name, address, leftOut: abilities.leftOut, results, again }
  const sidecars = await sidecarBinaries(options.binaries)
  const { compare, seconds, convergeSeconds } = options
  const usual = { ...options, durationMs: seconds * 1000, convergeMs: convergeSeconds * 1000, abilities, csiDriver }
  const progress = new ProgressPrinter(terminal)
  const onProgress = (state: SeedProgress): void => progress.show(state)
  // The reports are also written before the first seed, so that early findings are not lost.
  await writeReports(options, report)
  const gone = ownDriver?.watchGone()
  using life = scope(signal, gone)
  const allKept = await runSeeds(options.seeds, {
    run: async (seed) => {
      write(`seed ${seed} for ${options.seconds} s\n`)
      const runWith = async (name: string, binaries: SidecarPaths): Promise<SeedResult> => {
        const folders = { directory: join(directory, name), data: join(deps.data, name, 'nodes') }
        const result = await runSeed(
          { ...usual, ...folders, binaries, seed },
          { direct, address, ownNodes, ownProcess: ownDriver, gone, clock, log, onProgress },
          signal,
        )
        progress.end()
        return result
      }
      const result = await runWith(`seed-${seed}`, sidecars)
      const verdict = verdictOf(result, results)
      results.push(result)
      const remainingTime = remainingText(result, options.seeds.length - options.seeds.indexOf(seed) - 1)
      if (remainingTime !== undefined) verdict.appendix.push(remainingTime)
      if (compare !== undefined && !signal.aborted) {
        const others = await sidecarBinaries(sidecarsIn(compare))
        const other = await runWith(`seed-${seed}-compared`, others)
        const title = `seed ${seed}, with ${compare}`
        const comparison = comparisonOf(result, { ...other, title })
        verdict.appendix.push(...comparison)
        results.push({ ...other, title, comparison })
      }
      // The reports are written after each seed, so that a later failure loses no finding.
      await writeReports(options, report)
      return verdict
    },
    printLine: (line) => write(`${line.startsWith('FAIL') ? style.bad(line) : line}\n`),
    again,
    signal: life.signal,
  })
  if (signal.aborted) {
    write('Interrupted: this is what was found until then.\n')
    return INTERRUPTED
  }
  if (gone?.aborted === true) write(`No other seed was run: ${messageOf(gone.reason)}.\n`)
  const good = allKept && results.every(isGood)
  if (good) write(`${style.good('All promises were kept.')}\n`)
  return good ? 0 : 1
}

async function writeReports({ junit, markdown }: DriverTestOptions, report: TestReport): Promise<void> {
  if (junit !== undefined) await writeFile(junit, junitOf(report))
  if (markdown !== undefined) await writeFile(markdown, markdownOf(report))
}

interface Starting {
  readonly stack: AsyncDisposableStack
  readonly early: EarlyFindings
}

async function startOwn(
  { driverCommands, driver }: DriverTestOptions,
  { directory, clock, log, terminal }: TestParts & { readonly log: ReturnType<RunParts['openLog']> },
  { stack, early }: Starting,
): Promise<OwnDriverProcess | undefined> {
  if (driverCommands.length === 0) return undefined
  const logFile = join(directory, 'driver.log')
  const ownDriver = await startDriverProcesses(driverCommands, { logFile, clock, log })
  stack.defer(() => ownDriver.stop())
  stack.defer(ownDriver.watchDeaths(early.onDeath))
  for (const command of driverCommands) terminal.write(`Started ${driver} by: ${command}\n`)
  return ownDriver
}

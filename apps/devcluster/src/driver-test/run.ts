import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isAbort, messageOf } from '@csi-sidecars/base'
import { ControllerServiceCapability_RPC_Type as ControllerRpc } from '@csi-sidecars/csi-proto'
import { sidecarBinaries } from '../cluster/binaries.ts'
import { openDriver } from '../driver/driver.ts'
import type { RunParts } from '../run.ts'
import { learnAbilities } from './abilities.ts'
import { type DriverProcess, startDriverProcess } from './driver-process.ts'
import { againLine, type TestOptions } from './options.ts'
import { isGood, junitOf, markdownOf, type TestReport, told } from './report.ts'
import { runSeed, type SeedResult } from './seed.ts'

/** Of a run that somebody has ended before it was over. */
const INTERRUPTED = 130

/** Tests the driver by all seeds, and writes the reports. Returns the exit code. */
export async function runDriverTest(options: TestOptions, parts: RunParts, signal: AbortSignal): Promise<number> {
  const { write, style } = parts.terminal
  const directory = await mkdtemp(join(tmpdir(), 'csi-devcluster-'))
  let code = 2
  try {
    code = await test(options, { ...parts, directory }, signal)
  } catch (error) {
    if (signal.aborted && isAbort(error)) code = INTERRUPTED
    else write(`${style.bad('Failed:')} ${messageOf(error)}\n`)
  }
  if (code === 0 || code === INTERRUPTED) await rm(directory, { recursive: true, force: true })
  else write(`What was logged is in ${directory}\n`)
  return code
}

type TestParts = RunParts & { readonly directory: string }

async function test(options: TestOptions, parts: TestParts, signal: AbortSignal): Promise<number> {
  const { directory, clock, terminal } = parts
  const { write } = terminal
  const { driver: address, parameters, capabilities, nodeIds } = options
  const log = parts.openLog(join(directory, 'devcluster.log'))
  await using stack = new AsyncDisposableStack()
  const own = await startOwn(options, { ...parts, log }, stack)
  const direct = await openDriver({ address, clock, log, signal, nodeService: false })
  stack.defer(() => direct.close())
  const crash = own !== undefined
  const abilities = await learnAbilities(direct, { address, nodeIds, parameters, capabilities, crash, clock }, signal)
  write(`Driver ${direct.name} at ${address}, with ${abilities.nodes.map(({ nodeId }) => nodeId).join(', ')}\n`)
  for (const text of abilities.leftOut) write(`  left out: ${text}\n`)
  const binaries = await sidecarBinaries(options)
  const expands = direct.capabilities.controller.has(ControllerRpc.EXPAND_VOLUME)
  const sidecars = { attacher: binaries.attacher, ...(expands && { resizer: binaries.resizer }) }
  const results: SeedResult[] = []
  const report: TestReport = {
    driver: direct.name,
    address,
    abilities,
    results,
    again: (seed) => againLine(options, seed),
  }
  for (const seed of options.seeds) {
    write(`seed ${seed} for ${options.seconds} s\n`)
    const place = join(directory, `seed-${seed}`)
    const times = { durationMs: options.seconds * 1000, calmMs: options.patienceSeconds * 1000 }
    const result = await runSeed(
      { seed, ...times, abilities, parameters, sidecars, directory: place },
      { direct, address, ...processParts(own), clock, log },
      signal,
    )
    results.push(result)
    tell(result, report, terminal)
    // After each seed: what was found is not lost with what comes then.
    if (options.junit !== undefined) await writeFile(options.junit, junitOf(report))
    if (options.markdown !== undefined) await writeFile(options.markdown, markdownOf(report))
  }
  const good = results.every(isGood)
  write(good ? `${terminal.style.good('All promises were kept.')}\n` : '')
  return good ? 0 : 1
}

async function startOwn(
  { driverCommand, driver }: TestOptions,
  { directory, clock, log, terminal }: TestParts & { readonly log: ReturnType<RunParts['openLog']> },
  stack: AsyncDisposableStack,
): Promise<DriverProcess | undefined> {
  if (driverCommand === undefined) return undefined
  const logFile = join(directory, 'driver.log')
  const own = await startDriverProcess({ command: driverCommand, logFile, clock, log })
  stack.defer(() => own.stop())
  terminal.write(`Started ${driver} by: ${driverCommand}\n`)
  return own
}

function processParts(own: DriverProcess | undefined) {
  if (own === undefined) return { kill: undefined, watchDeaths: () => () => undefined }
  return { kill: () => own.kill(), watchDeaths: (listener: (how: string) => void) => own.watchDeaths(listener) }
}

function tell(result: SeedResult, { again }: TestReport, { write, style }: RunParts['terminal']): void {
  const { seed, actions, calls, findings, clusterFaults, leftBehind } = result
  write(`  ${actions} actions, ${calls} calls, ${isGood(result) ? 'all promises kept' : style.bad('found:')}\n`)
  for (const finding of findings) write(`${indented(told(finding))}\n`)
  for (const text of clusterFaults) write(`  of the cluster itself: ${text}\n`)
  for (const text of leftBehind) write(`  left at the driver: ${text}\n`)
  if (!isGood(result)) write(`  again: ${again(seed)}\n`)
}

function indented(text: string): string {
  return text.replace(/^/gm, '  ')
}

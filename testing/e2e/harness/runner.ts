import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { inParallel } from '@csi-sidecars/base'
import type { Progress } from '@csi-sidecars/command'
import type { Cluster } from './api/cluster.ts'
import { CannotRun } from './cannot-run.ts'
import { errorText, TestContext } from './context.ts'
import { temporaryFolder } from './process/processes.ts'
import { type Binaries, type Executables, TARGETS, type Target } from './subject.ts'
import type { Check, CheckContext, EndToEndTest, TestOptions } from './test.ts'
import { TIME_FACTOR } from './waiting.ts'

/** The tests and checks, and the API server and the executables for them. `run` selects the tests that fit these. */
export interface RunOptions {
  readonly tests: readonly EndToEndTest[]
  readonly checks: readonly Check[]
  readonly target: Target
  /** The API server for each test that can run on both. Undefined if such tests run on both. */
  readonly preferred?: Target | undefined
  readonly binaries: Binaries
  readonly executables: Executables
  readonly cluster: Cluster
  /** The API server for tests that are alone on their cluster. */
  readonly clusterOfAlone: Cluster
  /** True to also run tests that are restricted to other binaries. Their failures show the differences. */
  readonly differences?: boolean
  /** The folder for the reports of failed tests. */
  readonly reports: string
  readonly progress: Progress
  /** Collects the results of the tests. */
  readonly tally: Tally
}

/** The results of all tests so far, over all parts and targets of a run. */
export interface Tally {
  passed: number
  /** The titles of the tests that failed. */
  readonly failed: string[]
  /** The number of tests that cannot run on this machine or with this version of Kubernetes. */
  absent: number
}

/** The description of a failure. Undefined if the test has passed. */
type Failure = string | CannotRun | undefined

const MARKS = { passed: 'ok  ', failed: 'FAIL', absent: 'none' } as const

const TEST_LIMIT_MS = 120_000 * TIME_FACTOR

/** The number of tests so far. It makes object names unique, also across rounds. */
let numbered = 0

/** `together`: tests that run at the same time. Each other test runs alone, on its cluster or on the machine. */
type Part = 'together' | NonNullable<TestOptions['alone']>

/**
 * Runs the tests and checks of all API servers. Tests that are alone on their cluster run beside the others, one at a time.
 * Tests that are alone on the machine come last.
 */
export async function runAll(lanes: readonly RunOptions[], concurrency: number): Promise<void> {
  const slots = new Slots(concurrency)
  const beside = lanes.flatMap((lane) => [
    run('together', lane, slots),
    run('cluster', { ...lane, cluster: lane.clusterOfAlone }, slots),
  ])
  await Promise.all(beside)
  for (const lane of lanes) await run('machine', lane, slots)
}

/** Lets a fixed number of tests run at a time, in the order in which they ask. */
class Slots {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(count: number) {
    this.#free = count
  }

  async use(work: () => Promise<void>): Promise<void> {
    if (this.#free > 0) this.#free -= 1
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      await work()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#free += 1
      else next()
    }
  }
}

/** Runs one part of the tests and checks. */
async function run(part: Part, options: RunOptions, slots: Slots): Promise<void> {
  const folder = temporaryFolder('tests')
  const selected = selectedFor(options)
  const tests = selected.tests.filter(({ alone = 'together' }) => alone === part)
  const checks = selected.checks.filter(({ alone = 'together' }) => alone === part)
  const { progress, tally } = options
  const count = async (title: string, result: Promise<Failure>): Promise<void> => {
    const began = performance.now()
    progress.begin(title)
    const failure = await result
    const outcome = outcomeOf(failure)
    if (outcome === 'failed') tally.failed.push(`${options.target}: ${title}`)
    else tally[outcome] += 1
    const seconds = ((performance.now() - began) / 1000).toFixed(1)
    progress.printLine(`${MARKS[outcome]} ${options.target.padEnd(8)} ${seconds.padStart(6)} s  ${title}`)
    if (failure !== undefined) progress.printLine(failure instanceof Error ? indent(failure.message) : failure)
    progress.end(title)
  }
  const runNext = (test: EndToEndTest): Promise<void> => {
    numbered += 1
    return count(test.title, runTest(test, { ...options, id: `s${numbered}`, parent: folder }))
  }
  const runNextCheck = (check: Check): Promise<void> =>
    count(check.title, runCheck(check, { ...options, folder: join(options.reports, slug(check.title)) }))
  if (part === 'together') {
    // Two checks run at a time, because most of them wait.
    await Promise.all([...tests.map((test) => slots.use(() => runNext(test))), inParallel(2, checks, runNextCheck)])
  } else {
    for (const test of tests) await runNext(test)
    for (const check of checks) await runNextCheck(check)
  }
}

type Choice = Pick<RunOptions, 'tests' | 'checks' | 'target' | 'binaries' | 'differences' | 'preferred'>

/** Returns the tests and checks that run on this target with these binaries. */
export function selectedFor(options: Choice): Pick<RunOptions, 'tests' | 'checks'> {
  // Checks start separate sidecars, so they cannot test the combined process.
  const checks = options.binaries === 'one' ? [] : options.checks.filter(({ target }) => target === options.target)
  return { tests: options.tests.filter((test) => fits(test, options)), checks }
}

function fits(test: EndToEndTest, { target, preferred, binaries, differences = false }: Choice): boolean {
  const flavour = binaries === 'one' ? 'ours' : binaries
  if (!differences && (test.only ?? flavour) !== flavour) return false
  if (binaries === 'one' && test.notOne === true) return false
  const targets = test.target === undefined ? TARGETS : [test.target]
  const chosen = preferred !== undefined && targets.includes(preferred) ? [preferred] : targets
  return chosen.includes(target)
}

async function runTest(test: EndToEndTest, options: RunOptions & { id: string; parent: string }): Promise<Failure> {
  const folder = join(options.parent, options.id)
  mkdirSync(folder, { recursive: true })
  const context = new TestContext({ ...options, folder, app: test.app })
  let failure: Failure
  try {
    await withTimeLimit(test.within ?? TEST_LIMIT_MS, test.run(context))
  } catch (error) {
    if (error instanceof CannotRun) failure = error
    else {
      const report = join(options.reports, slug(test.title))
      context.report(report, error)
      failure = `${indent(errorText(error))}\n     the logs of all sides are in ${report}`
    }
  }
  try {
    await context.close()
  } catch (error) {
    failure ??= indent(`cleanup failed: ${errorText(error)}`)
  }
  return failure
}

async function runCheck({ run: execute, within: limit }: Check, ground: CheckContext): Promise<Failure> {
  const { folder } = ground
  mkdirSync(folder, { recursive: true })
  try {
    await withTimeLimit(limit ?? TEST_LIMIT_MS, execute(ground))
    return undefined
  } catch (error) {
    if (error instanceof CannotRun) return error
    return `${indent(errorText(error))}\n     more is in ${folder}`
  }
}

async function withTimeLimit(ms: number, work: Promise<void>): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = AbortSignal.timeout(ms)
  timer.addEventListener('abort', () => reject(new Error(`the test did not end within ${ms} ms`)), { once: true })
  work.catch(() => undefined)
  await Promise.race([work, promise])
}

function slug(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 100)
}

function indent(text: string): string {
  return text
    .split('\n')
    .slice(0, 40)
    .map((line) => `     ${line.slice(0, 1200)}`)
    .join('\n')
}

function outcomeOf(failure: Failure): keyof typeof MARKS {
  if (failure === undefined) return 'passed'
  return failure instanceof CannotRun ? 'absent' : 'failed'
}

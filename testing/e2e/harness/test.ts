import type { Cluster } from './api/cluster.ts'
import type { TestContext } from './context.ts'
import type { Binaries, Executables, Subject, Target, TestedApp } from './subject.ts'

/**
 * True if the long tests also run. They take minutes, look for random failures, or measure. The check of a pull request
 * omits them.
 */
export const LONG = process.env['E2E_LONG'] === 'true'

/**
 * The conditions under which a test runs. By default it runs with all binaries, on both API servers, at the same time
 * as other tests.
 */
export interface TestOptions {
  /** The only binaries that the test runs against; `ours` includes the combined process. */
  readonly only?: Exclude<Binaries, 'one'>
  /** True for a test about the executable of one sidecar, which does not run with the combined process. */
  readonly notOne?: boolean
  /** The only API server that the test runs against. */
  readonly target?: Target
  /** `cluster`: the test changes objects of other tests on its cluster. `machine`: it measures, or uses all processors. */
  readonly alone?: 'cluster' | 'machine'
  /** The time limit in milliseconds. Default: two minutes times `TIME_FACTOR`. */
  readonly within?: number
  /** True for a row, whose trace is recorded. */
  readonly isRow?: boolean
  /** True for a test that only the long tests include. */
  readonly long?: boolean
}

/** True if a run records what it sees, instead of comparing it with what is recorded. Only rows and checks then run. */
export const RECORDS = process.env['E2E_RECORD'] === 'true'

/**
 * Returns the sidecars for tests of code that attacher and resizer share: both for the long tests, and `usual` for all
 * other runs.
 */
export function sharingCode(usual: 'attacher' | 'resizer'): readonly ('attacher' | 'resizer')[] {
  return LONG || RECORDS ? ['attacher', 'resizer'] : [usual]
}

/** Options of tests that do not depend on the API server. They run with the emulator only. */
export const WITHOUT_API = { target: 'emulator' } as const

/** One registered test. The runner creates a new context for each run, and closes it afterwards. */
export interface EndToEndTest extends TestOptions {
  readonly app: TestedApp
  readonly title: string
  readonly run: (context: TestContext) => Promise<void>
}

const tests: EndToEndTest[] = []

/** The cluster and the executables that a check may use. The runner does not clean up after a check. */
export interface CheckContext {
  readonly cluster: Cluster
  /** The folder for files that explain a failed check. */
  readonly folder: string
  readonly executables: Executables
}

/** A test of the test environment or of the embedded cluster. */
export interface Check {
  readonly title: string
  readonly target: Target
  readonly within?: number | undefined
  readonly alone?: TestOptions['alone']
  /** True for a check that only the long tests include. */
  readonly long?: boolean
  readonly run: (ground: CheckContext) => Promise<void>
}

/**
 * Returns a function that adds a test about `subject` to a group. The options `common` apply to each test of the group.
 */
export function testsOf(subject: Subject, group: string, common: TestOptions = {}) {
  return (
    sentence: string,
    ...rest: [(context: TestContext) => Promise<void>] | [TestOptions, (context: TestContext) => Promise<void>]
  ) => {
    const [testOptions, run] = rest.length === 1 ? [{}, rest[0]] : rest
    const options = { ...common, ...testOptions }
    if ((options.long === true && !LONG) || (RECORDS && options.isRow !== true)) return
    const app = subject === 'both' ? 'attacher' : subject
    tests.push({ ...options, app, title: `${subject}, ${group}: ${sentence}`, run })
  }
}

export function allTests(): readonly EndToEndTest[] {
  return tests
}

const checks: Check[] = []

export function check(title: string, where: Target | Omit<Check, 'title' | 'run'>, run: Check['run']): void {
  const options = typeof where === 'string' ? { target: where } : where
  if (options.long !== true || LONG) checks.push({ title, ...options, run })
}

export function allChecks(): readonly Check[] {
  return checks
}

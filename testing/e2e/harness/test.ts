import type { Cluster } from './api/cluster.ts'
import type { TestContext } from './context.ts'
import { LONG } from './long.ts'
import type { App, Binaries, Executables, Subject, Target } from './subject.ts'

export interface TestOptions {
  /** Runs only against these binaries (`ours` includes the combined process). A comment at the test gives the reason. */
  readonly only?: Exclude<Binaries, 'one'>
  /** Does not run against the combined process: the test is about the executable of one sidecar. */
  readonly notOne?: boolean
  readonly target?: Target
  /** Nothing else runs at the same time: the test measures time or changes what all tests share. */
  readonly alone?: boolean
  readonly within?: number
  /** Runs only with the long tests. A test with a target is long on this target only, because it mostly waits there. */
  readonly long?: boolean | Target
}

/** Options of tests that do not depend on the API server. */
export const WITHOUT_API = { target: 'emulator' } as const

export interface EndToEndTest extends TestOptions {
  readonly app: App
  readonly title: string
  readonly run: (context: TestContext) => Promise<void>
}

const tests: EndToEndTest[] = []

/**
 * A group of tests about one binary; each name is a sentence about it. Tests about both sidecars start the combined
 * process themselves. `common` holds for each of them.
 */
export function testsOf(subject: Subject, group: string, common: TestOptions = {}) {
  return (
    sentence: string,
    ...rest: [(context: TestContext) => Promise<void>] | [TestOptions, (context: TestContext) => Promise<void>]
  ) => {
    const [own, run] = rest.length === 1 ? [{}, rest[0]] : rest
    const options = { ...common, ...own }
    if (options.long === true && !LONG) return
    const app = subject === 'both' ? 'attacher' : subject
    tests.push({ ...options, app, title: `${subject}, ${group}: ${sentence}`, run })
  }
}

export function allTests(): readonly EndToEndTest[] {
  return tests
}

export interface Ground {
  readonly cluster: Cluster
  /** The folder for files that explain a failed check. */
  readonly folder: string
  readonly executables: Executables
}

/** A test of the test environment and of the embedded cluster; nothing else runs at the same time, except by `together`. */
export interface Check {
  readonly title: string
  readonly target: Target
  readonly within?: number | undefined
  /** Two of these run at a time: each takes minutes in which it mostly waits. */
  readonly together?: boolean
  readonly run: (ground: Ground) => Promise<void>
}

const checks: Check[] = []

export function check(
  title: string,
  where: Target | Pick<Check, 'target' | 'within' | 'together'>,
  run: Check['run'],
): void {
  checks.push({ title, ...(typeof where === 'string' ? { target: where } : where), run })
}

export function allChecks(): readonly Check[] {
  return checks
}

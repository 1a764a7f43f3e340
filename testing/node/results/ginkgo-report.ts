/** The outcome of one of Kubernetes' tests. */
export interface TestOutcome {
  readonly state: 'passed' | 'failed' | 'skipped'
  readonly seconds: number
}

/** The outcomes of the tests in the focus, by their names. */
export type TestRun = ReadonlyMap<string, TestOutcome>

/** The numbers of tests of one run, by outcome. */
export interface TestCounts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

/** A part of the JSON report of ginkgo, as far as the results need it. */
interface SuiteReport {
  readonly SpecReports: readonly {
    readonly LeafNodeType: string
    readonly LeafNodeText: string
    readonly ContainerHierarchyTexts: readonly string[] | null
    /** `skipped` also if the test is outside of the focus. Then it has no message. */
    readonly State: string
    readonly RunTime: number
    readonly Failure?: { readonly Message?: string }
  }[]
}

const NANOSECONDS = 1e9

/**
 * Reads the JSON report of ginkgo. Tests outside of the focus are left out. A failure of the suite itself counts as a
 * test.
 */
export function readReport(json: string): TestRun {
  const suites = JSON.parse(json) as readonly SuiteReport[]
  const outcomes = suites.flatMap(({ SpecReports }) =>
    SpecReports.flatMap((each): [string, TestOutcome][] => {
      const { State, RunTime, Failure } = each
      const state = State === 'passed' || State === 'skipped' ? State : 'failed'
      const isInFocus = state !== 'skipped' || Boolean(Failure?.Message)
      const isTest = each.LeafNodeType === 'It'
      if (isTest ? !isInFocus : state !== 'failed') return []
      const name = isTest ? [...(each.ContainerHierarchyTexts ?? []), each.LeafNodeText].join(' ') : each.LeafNodeType
      return [[name, { state, seconds: RunTime / NANOSECONDS }]]
    }),
  )
  return new Map(outcomes)
}

export function countsOf(run: TestRun): TestCounts {
  const count = (state: TestOutcome['state']): number => [...run.values()].filter((each) => each.state === state).length
  return { passed: count('passed'), failed: count('failed'), skipped: count('skipped') }
}

/** Compares a run with the run of the Go sidecars. Returns a line for each test with another outcome. */
export function differences(go: TestRun, other: TestRun): readonly string[] {
  const names = [...new Set([...go.keys(), ...other.keys()])].sort()
  return names.flatMap((name) => {
    const [left, right] = [go.get(name)?.state ?? 'absent', other.get(name)?.state ?? 'absent']
    return left === right ? [] : [`${left} with Go, ${right} here: ${name}`]
  })
}

/** Reports whether each test that passes with Go passes here, and each test that fails here fails with Go. */
export function isAsGoodAs(go: TestRun, run: TestRun): boolean {
  const names = [...new Set([...go.keys(), ...run.keys()])]
  return names.every((name) => {
    const [left, right] = [go.get(name)?.state, run.get(name)?.state]
    return right === 'failed' ? left === 'failed' : left !== 'passed' || right === 'passed'
  })
}

/** Returns the summed seconds of the tests that passed in both runs. */
export function commonSeconds(go: TestRun, other: TestRun): { readonly go: number; readonly other: number } {
  const both = [...go.keys()].filter((name) => [go, other].every((run) => run.get(name)?.state === 'passed'))
  const sum = (run: TestRun): number =>
    Math.round(both.reduce((total, name) => total + (run.get(name)?.seconds ?? 0), 0))
  return { go: sum(go), other: sum(other) }
}

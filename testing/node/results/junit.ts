/** The outcome of one of Kubernetes' tests. */
export interface TestOutcome {
  readonly state: 'passed' | 'failed' | 'skipped'
  readonly seconds: number
  /** The reason why the test was skipped. */
  readonly reason: string
}

/** The outcomes of the tests in the focus, by their names. */
export type TestRun = ReadonlyMap<string, TestOutcome>

const CASE = /<testcase\b([^>]*?)(?:\/>|>(.*?)<\/testcase>)/gs
const ATTRIBUTE = /([\w-]+)="([^"]*)"/g
const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }

export interface TestCounts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  /** The sum of the times of all tests. Tests run at the same time, so the run is shorter. */
  readonly seconds: number
}

/**
 * Reads the JUnit report of ginkgo. Tests outside of the focus are left out. A failure of the suite itself
 * counts as a test.
 */
export function readJunit(xml: string): TestRun {
  const outcomes = [...xml.matchAll(CASE)].flatMap(([, head = '', body = '']): [string, TestOutcome][] => {
    const { name = '', time = '0' } = attributesOf(head)
    const isTest = name.startsWith('[It] ')
    const failed = /<(failure|error)\b/.test(body)
    const skipped = /<skipped\b([^>]*)/.exec(body)?.[1]
    const reason = skipped === undefined ? '' : (attributesOf(skipped)['message'] ?? '')
    if (!failed && (!isTest || (skipped !== undefined && ['', 'skipped'].includes(reason)))) return []
    const unfailed = skipped === undefined ? 'passed' : 'skipped'
    const state = failed ? 'failed' : unfailed
    return [[isTest ? name.slice('[It] '.length) : name, { state, seconds: Number(time), reason }]]
  })
  return new Map(outcomes)
}

function attributesOf(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries([...text.matchAll(ATTRIBUTE)].map(([, name = '', value = '']) => [name, decoded(value)]))
}

function decoded(text: string): string {
  return text.replaceAll(/&(#x?[0-9a-fA-F]+|\w+);/g, (whole, entity: string) => {
    if (!entity.startsWith('#')) return ENTITIES[entity] ?? whole
    return String.fromCodePoint(Number(entity.startsWith('#x') ? `0${entity.slice(1)}` : entity.slice(1)))
  })
}

export function countsOf(run: TestRun): TestCounts {
  const count = (state: TestOutcome['state']): number => [...run.values()].filter((each) => each.state === state).length
  const seconds = Math.round([...run.values()].reduce((sum, each) => sum + each.seconds, 0))
  return { passed: count('passed'), failed: count('failed'), skipped: count('skipped'), seconds }
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
  const stateIn = (which: TestRun, name: string): TestOutcome['state'] | undefined => which.get(name)?.state
  const keepsPassing = [...go.keys()].every((name) => stateIn(go, name) !== 'passed' || stateIn(run, name) === 'passed')
  const fails = [...run.keys()].filter((name) => stateIn(run, name) === 'failed')
  return keepsPassing && fails.every((name) => stateIn(go, name) === 'failed')
}

/** Returns the summed seconds of the tests that passed in both runs. */
export function commonSeconds(go: TestRun, other: TestRun): { readonly go: number; readonly other: number } {
  const both = [...go.keys()].filter((name) => [go, other].every((run) => run.get(name)?.state === 'passed'))
  const sum = (run: TestRun): number =>
    Math.round(both.reduce((total, name) => total + (run.get(name)?.seconds ?? 0), 0))
  return { go: sum(go), other: sum(other) }
}

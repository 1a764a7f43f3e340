import { expect, it } from '@jest/globals'
import { commonSeconds, countsOf, differences, isAsGoodAs, readReport, type TestRun } from './ginkgo-report.ts'

type Spec = Readonly<Record<string, unknown>>

const spec = (LeafNodeText: string, State: string, seconds = 1): Spec => {
  return { LeafNodeType: 'It', LeafNodeText, ContainerHierarchyTexts: [], State, RunTime: seconds * 1e9 }
}
const passed = (name: string, seconds = 1): Spec => spec(name, 'passed', seconds)
const failed = (name: string): Spec => spec(name, 'failed', 3)
const skipped = (name: string, Message: string): Spec => ({ ...spec(name, 'skipped', 0), Failure: { Message } })
const suite = (State: string): Spec => {
  return { LeafNodeType: 'SynchronizedBeforeSuite', LeafNodeText: '', ContainerHierarchyTexts: null, State, RunTime: 1 }
}
const run = (...specs: readonly Spec[]): TestRun => readReport(JSON.stringify([{ SpecReports: specs }]))

it('a report has the outcome of each test in the focus, by its whole name', () => {
  const inGroup = { ...passed('a', 2.5), ContainerHierarchyTexts: ['[sig-storage]', 'External'] }
  const report = run(inGroup, failed('c'), spec('t', 'timedout'), skipped('d', 'the driver has no xfs'))
  expect(Object.fromEntries(report)).toEqual({
    '[sig-storage] External a': { state: 'passed', seconds: 2.5 },
    c: { state: 'failed', seconds: 3 },
    t: { state: 'failed', seconds: 1 },
    d: { state: 'skipped', seconds: 0 },
  })
  expect(countsOf(report)).toEqual({ passed: 1, failed: 2, skipped: 1 })
})

it('tests outside of the focus and passed parts of the suite are left out', () => {
  expect(run(suite('passed'), spec('a', 'skipped'), skipped('b', '')).size).toBe(0)
})

it('a failure of the suite itself counts', () => {
  expect(countsOf(run(suite('failed'))).failed).toBe(1)
})

it('two runs differ in the tests with another outcome, and share the time of the others', () => {
  const go = run(passed('a', 2), passed('b', 4), passed('gone'))
  const ours = run(passed('a', 3), failed('b'))
  expect(differences(go, ours)).toEqual(['passed with Go, failed here: b', 'passed with Go, absent here: gone'])
  expect(commonSeconds(go, ours)).toEqual({ go: 2, other: 3 })
})

it.each([
  ['passes in both', [passed('a')], [passed('a')], true],
  ['fails in both', [failed('a')], [failed('a')], true],
  ['fails with Go only', [failed('a')], [passed('a')], true],
  ['fails here only', [passed('a')], [failed('a')], false],
  ['fails here, and was not run with Go', [], [failed('a')], false],
  ['passes with Go, and was not run here', [passed('a')], [], false],
  ['passes here, and was not run with Go', [], [passed('a')], true],
])('a run is compared with Go by each test: one %s', (_, go, ours, expected) => {
  expect(isAsGoodAs(run(...go), run(...ours))).toBe(expected)
})

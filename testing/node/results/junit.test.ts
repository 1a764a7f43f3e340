import { expect, it } from '@jest/globals'
import { commonSeconds, countsOf, differences, isAsGoodAs, readJunit } from './junit.ts'

const report = (...cases: readonly string[]): string =>
  `<?xml version="1.0"?><testsuites><testsuite name="e2e">${cases.join('\n')}</testsuite></testsuites>`
const passed = (name: string, time = 1): string =>
  `<testcase name="[It] ${name}" status="passed" time="${time}"></testcase>`
const failed = (name: string): string =>
  `<testcase name="[It] ${name}" time="3"><failure message="timed &quot;out&quot;">text</failure></testcase>`
const skipped = (name: string, message: string): string =>
  `<testcase name="[It] ${name}" time="0"><skipped message="${message}"></skipped></testcase>`

it('a report has the outcome of each test in the focus', () => {
  const run = readJunit(report(passed('a &amp; b', 2.5), failed('c'), skipped('d', 'skipped - no &#34;xfs&#34;')))
  expect(Object.fromEntries(run)).toEqual({
    'a & b': { state: 'passed', seconds: 2.5, reason: '' },
    c: { state: 'failed', seconds: 3, reason: '' },
    d: { state: 'skipped', seconds: 0, reason: 'skipped - no "xfs"' },
  })
  expect(countsOf(run)).toEqual({ passed: 1, failed: 1, skipped: 1, seconds: 6 })
})

it('tests outside of the focus and passed parts of the suite are left out', () => {
  const suite = '<testcase name="[SynchronizedBeforeSuite]" time="1"/>'
  expect(readJunit(report(suite, skipped('a', 'skipped'), skipped('b', ''))).size).toBe(0)
})

it('a failure of the suite itself counts', () => {
  const suite = '<testcase name="[SynchronizedBeforeSuite]" time="1"><failure>no node</failure></testcase>'
  expect(countsOf(readJunit(report(suite))).failed).toBe(1)
})

it('two runs differ in the tests with another outcome, and share the time of the others', () => {
  const go = readJunit(report(passed('a', 2), passed('b', 4), passed('gone')))
  const ours = readJunit(report(passed('a', 3), failed('b')))
  expect(differences(go, ours)).toEqual(['passed with Go, failed here: b', 'passed with Go, absent here: gone'])
  expect(commonSeconds(go, ours)).toEqual({ go: 2, other: 3 })
})

it.each([
  ['passes in both', passed('a'), passed('a'), true],
  ['fails in both', failed('a'), failed('a'), true],
  ['fails with Go only', failed('a'), passed('a'), true],
  ['fails here only', passed('a'), failed('a'), false],
  ['fails here, and was not run with Go', '', failed('a'), false],
  ['passes with Go, and was not run here', passed('a'), '', false],
  ['passes here, and was not run with Go', '', passed('a'), true],
])('a run is compared with Go by each test: one %s', (_, go, ours, expected) => {
  expect(isAsGoodAs(readJunit(report(go)), readJunit(report(ours)))).toBe(expected)
})

import type { Finding } from './checks/checker.ts'
import { CHECKS, type CheckName, SECTIONS, specificationLink } from './checks/checks.ts'
import type { SeedResult } from './seed.ts'

/** The results of a whole test. */
export interface TestReport {
  readonly driver: string
  readonly address: string
  /** The features that were not tested, with reasons. */
  readonly leftOut: readonly string[]
  readonly results: readonly SeedResult[]
  /** Returns the command that repeats one seed, or all seeds. */
  readonly again: (seed?: number) => string
}

export const CLUSTER_RULES = 'The cluster keeps to its own rules'

const NAMES = Object.keys(CHECKS) as readonly CheckName[]

export function isGood({ findings, clusterFaults }: SeedResult): boolean {
  return findings.length + clusterFaults.length === 0
}

/** Returns a JUnit report for CI, with a test suite for each seed and a test case for each check. */
export function junitOf({ driver, leftOut: untried, results, again }: TestReport): string {
  const suites = results.map((result) => {
    const { title, seed, seconds, findings, clusterFaults } = result
    const cases = NAMES.map((name) => {
      const broken = findings.filter(({ check }) => check === name)
      return caseOf(
        driver,
        CHECKS[name],
        broken.length === 0 ? [] : [...broken.map(findingText), sectionsText(name), again(seed)],
      )
    })
    const allCases = [...cases, caseOf(driver, CLUSTER_RULES, clusterFaults)]
    const failures = allCases.filter((each) => each.includes('<failure')).length
    const counts = `tests="${allCases.length}" failures="${failures}" time="${seconds.toFixed(1)}"`
    const leftOut = `    <system-out>${xml(['Left out:', ...untried].join('\n'))}</system-out>`
    return [`  <testsuite name="${xml(driver)}, ${title}" ${counts}>`, ...allCases, leftOut, '  </testsuite>'].join(
      '\n',
    )
  })
  return ['<?xml version="1.0" encoding="UTF-8"?>', '<testsuites>', ...suites, '</testsuites>', ''].join('\n')
}

function caseOf(driver: string, sentence: string, failures: readonly string[]): string {
  const open = `    <testcase classname="${xml(driver)}" name="${xml(sentence)}"`
  const [first = ''] = failures
  if (failures.length === 0) return `${open}/>`
  const message = xml(first.split('\n')[0] ?? '')
  return `${open}><failure message="${message}">${xml(failures.join('\n\n'))}</failure></testcase>`
}

/** The characters that XML does not allow, even if they are escaped. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression looks for control characters
const NOT_IN_XML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g

function xml(text: string): string {
  return text
    .replace(NOT_IN_XML, '\ufffd')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

/** Returns a Markdown report, for example for a pull request or an issue of the driver. */
export function markdownOf({ driver, address, leftOut, results, again }: TestReport): string {
  const bad = results.filter((result) => !isGood(result))
  const quiet = results.some(({ interrupted }) => interrupted)
    ? 'Nothing was found until the test was interrupted.'
    : 'All promises were kept.'
  const verdict = bad.length === 0 ? quiet : `${bad.length} of ${results.length} seeds found something.`
  return [
    `# ${driver} at ${address}`,
    '',
    verdict,
    '',
    '| seed | seconds | actions | calls | found |',
    '|---|---|---|---|---|',
    ...results.map(
      ({ title, interrupted, seconds, actions, calls, findings, clusterFaults }) =>
        `| ${title.replace('seed ', '')}${interrupted ? ', interrupted' : ''} | ${seconds.toFixed(0)} | ${actions} | ${calls} | ${findings.length + clusterFaults.length} |`,
    ),
    ...results.flatMap(({ comparison = [] }) =>
      comparison.length === 0 ? [] : ['', '## Side by side', '', '```text', ...comparison, '```'],
    ),
    ...bad.flatMap((result) => foundOf(result, again)),
    '',
    '## Left out',
    '',
    ...leftOut.map((text) => `- ${text}`),
    '',
  ].join('\n')
}

function foundOf(
  { title, seed, findings, clusterFaults, undeleted }: SeedResult,
  again: TestReport['again'],
): readonly string[] {
  return [
    '',
    `## ${title.charAt(0).toUpperCase()}${title.slice(1)}`,
    '',
    'Again:',
    '',
    `    ${again(seed)}`,
    ...findings.flatMap(({ check, text, calls, timeline, occurrences }) => [
      '',
      `### ${CHECKS[check]}`,
      '',
      `${text}${occurrencesText(occurrences)}`,
      '',
      `CSI specification: ${SECTIONS[check].map((section) => `[${section}](${specificationLink(section)})`).join(', ')}`,
      ...(calls.length === 0 ? [] : ['', '```text', ...calls, '```']),
      ...(timeline.length <= calls.length ? [] : timelineOf(timeline)),
    ]),
    ...listOf('Of the cluster itself:', clusterFaults),
    ...listOf('Left in the back end:', undeleted),
  ]
}

function timelineOf(timeline: readonly string[]): readonly string[] {
  return [
    '',
    '<details><summary>Time line of the volume</summary>',
    '',
    '```text',
    ...timeline,
    '```',
    '',
    '</details>',
  ]
}

function listOf(title: string, texts: readonly string[]): readonly string[] {
  return texts.length === 0 ? [] : ['', title, '', ...texts.map((text) => `- ${text}`)]
}

/** Returns the sections of the CSI specification on which a check rests, as a line. */
export function sectionsText(check: CheckName): string {
  return `CSI specification: ${SECTIONS[check].join(', ')}`
}

export function occurrencesText(occurrences: number): string {
  return occurrences > 1 ? ` (${occurrences} times)` : ''
}

/** Returns the text of a finding, with the calls before it. */
function findingText({ check, text, calls, occurrences }: Finding): string {
  return [`${CHECKS[check]}: ${text}${occurrencesText(occurrences)}`, ...calls.map((line) => `  ${line}`)].join('\n')
}

import { tableOf, type Verdict } from '@csi-sidecars/disturb'
import { causeOf, type Finding } from './checks/checker.ts'
import { CHECKS } from './checks/checks.ts'
import { CLUSTER_RULES, occurrencesText } from './report.ts'
import type { SeedResult } from './seed.ts'

/** What the terminal shows of a seed. What an earlier one has found is shown without its calls. */
export function verdictOf(result: SeedResult, earlier: readonly SeedResult[]): Verdict & { appendix: string[] } {
  const { actions, calls, findings, clusterFaults, undeleted, interrupted } = result
  const shown = new Map(findings.map((finding) => [lineOf(finding), detailsOf(finding, earlier)]))
  const promises = findings.length + clusterFaults.length === 0 ? ', all promises kept' : ''
  return {
    findings: [
      ...findings.map((finding) => ({ rule: CHECKS[finding.check], text: lineOf(finding) })),
      ...clusterFaults.map((text) => ({ rule: CLUSTER_RULES, text })),
    ],
    summary: `${actions} actions, ${calls} calls${interrupted ? ', interrupted' : promises}`,
    details: ({ text }) => shown.get(text) ?? [],
    appendix: undeleted.map((text) => `left at the driver: ${text}`),
  }
}

/** Side by side: what only one of two runs of a seed has found. */
export function comparisonOf(one: SeedResult, two: SeedResult): readonly string[] {
  const only = (a: SeedResult, b: SeedResult): readonly Finding[] =>
    a.findings.filter((finding) => !b.findings.some((each) => causeOf(each) === causeOf(finding)))
  const rows = [[one, two] as const, [two, one] as const].flatMap(([a, b]) =>
    only(a, b).map((finding) => [
      a === one ? 'x' : '',
      a === one ? '' : 'x',
      `${CHECKS[finding.check]}: ${lineOf(finding)}`,
    ]),
  )
  const same = `${one.title} and ${two.title}: nothing differs, after ${one.calls} and ${two.calls} calls`
  if (rows.length === 0) return [same]
  return [`1: ${one.title}, 2: ${two.title}`, ...tableOf([['1', '2', 'found'], ...rows])]
}

/** Of what was found before the first seed. */
export function verdictLines(results: readonly SeedResult[], again: string): readonly string[] {
  return results.flatMap(({ title, findings }) => [
    `FAIL ${title}\n`,
    ...findings.map((finding) => `     ${CHECKS[finding.check]}: ${lineOf(finding)}\n`),
    `     again: ${again}\n`,
  ])
}

function lineOf({ text, occurrences }: Finding): string {
  return `${text}${occurrencesText(occurrences)}`
}

function detailsOf(finding: Finding, earlier: readonly SeedResult[]): readonly string[] {
  const before = earlier.find(({ findings }) => findings.some((each) => causeOf(each) === causeOf(finding)))
  return before === undefined ? finding.calls : [`as in ${before.title}`]
}

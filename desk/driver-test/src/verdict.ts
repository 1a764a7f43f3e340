import { tableOf, type Verdict } from '@csi-sidecars/disturb'
import { causeOf, type Finding, withoutNames } from './checks/checker.ts'
import { CHECKS } from './checks/checks.ts'
import { CLUSTER_RULES, occurrencesText, sectionsText } from './report.ts'
import type { SeedResult } from './seed.ts'

/** Returns the lines about a seed. A finding that an earlier seed had too is shown without its calls. */
export function verdictOf(result: SeedResult, earlier: readonly SeedResult[]): Verdict & { appendix: string[] } {
  const { actions, calls, findings, clusterFaults, undeleted, interrupted } = result
  const details = new Map(findings.map((finding) => [lineOf(finding), detailsOf(finding, earlier)]))
  const promises = findings.length + clusterFaults.length === 0 ? ', all promises kept' : ''
  return {
    findings: [
      ...findings.map((finding) => ({ rule: CHECKS[finding.check], text: lineOf(finding) })),
      ...clusterFaults.map((text) => ({ rule: CLUSTER_RULES, text })),
    ],
    summary: `${actions} actions, ${calls} calls${interrupted ? ', interrupted' : promises}`,
    details: ({ text }) => details.get(text) ?? [],
    appendix: undeleted.map((text) => `left in the back end: ${text}`),
  }
}

/** Compares two runs of a seed: findings that only one run has, and the number of calls of each method in each run. */
export function comparisonOf(one: SeedResult, two: SeedResult): readonly string[] {
  const [ofOne, ofTwo] = [foundIn(one), foundIn(two)]
  const rows = [
    ...[...ofOne].flatMap(([causeKey, text]) => (ofTwo.has(causeKey) ? [] : [['x', '', text]])),
    ...[...ofTwo].flatMap(([causeKey, text]) => (ofOne.has(causeKey) ? [] : [['', 'x', text]])),
  ]
  const methods = [...new Set([...one.callsOf.keys(), ...two.callsOf.keys()])].sort()
  const counts = methods.map((method) =>
    [one, two].map(({ callsOf }) => String(callsOf.get(method) ?? 0)).concat(method),
  )
  return [
    `1: ${one.title}, 2: ${two.title}`,
    ...(rows.length === 0
      ? ['Both runs have the same findings.']
      : tableOf([['1', '2', 'found by one of them'], ...rows])),
    ...tableOf([['1', '2', 'calls'], ...counts]),
  ]
}

/** Returns the findings and the broken rules of the cluster, by cause. Sidecars may break the rules of the cluster. */
function foundIn({ findings, clusterFaults }: SeedResult): ReadonlyMap<string, string> {
  return new Map([
    ...findings.map((finding) => [causeOf(finding), `${CHECKS[finding.check]}: ${lineOf(finding)}`] as const),
    ...clusterFaults.map((text) => [`${CLUSTER_RULES} ${withoutNames(text)}`, `${CLUSTER_RULES}: ${text}`] as const),
  ])
}

/** Returns the estimated time of the remaining seeds, after a seed with findings. */
export function remainingText(result: SeedResult, seedsLeft: number): string | undefined {
  const { findings, seconds, title, interrupted } = result
  if (findings.length === 0 || seedsLeft === 0 || interrupted) return undefined
  const each = Math.ceil(seconds)
  const seeds = seedsLeft === 1 ? 'One more seed' : `${seedsLeft} more seeds`
  return `${seeds}: up to ${seedsLeft * each} s, if each takes ${each} s as ${title} did. --patience shortens them.`
}

/** Returns the lines to print about findings before the first seed. */
export function verdictLines(results: readonly SeedResult[], again: string): readonly string[] {
  return results.flatMap(({ title, findings }) => [
    `FAIL ${title}\n`,
    ...findings.map(
      (finding) => `     ${CHECKS[finding.check]}: ${lineOf(finding)}\n       ${sectionsText(finding.check)}\n`,
    ),
    `     again: ${again}\n`,
  ])
}

function lineOf({ text, occurrences }: Finding): string {
  return `${text}${occurrencesText(occurrences)}`
}

function detailsOf(finding: Finding, earlier: readonly SeedResult[]): readonly string[] {
  const before = earlier.find(({ findings }) => findings.some((each) => causeOf(each) === causeOf(finding)))
  return before === undefined ? [...finding.calls, sectionsText(finding.check)] : [`as in ${before.title}`]
}

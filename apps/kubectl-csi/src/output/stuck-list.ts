import { type ClusterFacts, groupedBy, textOf } from '../facts/facts.ts'
import type { WaitFinding } from '../findings/finding.ts'
import { ageText } from './age.ts'
import { findingJson, jsonText, oneLine, verdictOf } from './explanation.ts'
import { missingPart, unseenPart } from './text.ts'

/** The maximum number of objects that the text lists for one reason. JSON lists all objects. */
const MOST_OF_A_REASON = 20

/** Returns a summary, and one line for each stuck object, grouped by reason, with the longest wait first. */
export function stuckText(findings: readonly WaitFinding[], facts: ClusterFacts): string {
  const parts = [summary(findings, facts)]
  for (const [reason, group] of byReason(findings)) {
    const lines = group.slice(0, MOST_OF_A_REASON).map((finding) => lineOf(finding, facts.now))
    const more = group.length - lines.length
    if (more > 0) lines.push(`  and ${more} more, all of them with -o json`)
    parts.push(`${reason} (${group.length})\n${lines.join('\n')}`)
  }
  return `${[...parts, ...missingPart(facts), ...unseenPart(facts)].join('\n\n')}\n`
}

function summary(findings: readonly WaitFinding[], facts: ClusterFacts): string {
  if (findings.length === 0) {
    return verdictOf(findings, facts) === 'unknown'
      ? 'It is unknown whether anything is stuck, because not all could be read.'
      : 'Nothing is stuck.'
  }
  const since = findings.flatMap((finding) => finding.since ?? [])
  const age = since.length === 0 ? '' : `, the oldest for ${ageText(facts.now - Math.min(...since))}`
  return `${findings.length} ${findings.length === 1 ? 'object is' : 'objects are'} stuck${age}. More on each: kubectl csi explain.`
}

function byReason(findings: readonly WaitFinding[]): ReadonlyMap<string, readonly WaitFinding[]> {
  return groupedBy(findings, ({ reason }) => reason)
}

function lineOf({ object, waiter, waitsFor, since, atLeast }: WaitFinding, now: number): string {
  const age = since === undefined ? '?' : `${atLeast ? '>' : ''}${ageText(now - since)}`
  return `  ${age.padEnd(7)} ${textOf(object)}: ${waiter} waits for ${oneLine(waitsFor)}`
}

export function stuckJson(findings: readonly WaitFinding[], facts: ClusterFacts): string {
  const items = findings.map((finding) => findingJson(finding, facts.now))
  const missingPermissions = Object.fromEntries(facts.missingPermissions)
  return jsonText({ verdict: verdictOf(findings, facts), items, missingPermissions, unseen: facts.unseen })
}

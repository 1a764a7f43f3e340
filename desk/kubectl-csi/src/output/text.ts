import type { Advice } from '../advice/advice.ts'
import { type ClusterFacts, textOf } from '../facts/facts.ts'
import type { Evidence, WaitFinding } from '../findings/finding.ts'
import { type Explained, headlineOf, oneLine, verdictOf } from './explanation.ts'

interface ExplainedText extends Explained {
  /** The line about the object if nothing is stuck. */
  readonly well: string
}

/** Returns the explanation as text: the wait, its evidence, the advice, the certainty, and the unread objects. */
export function explanationText(explained: ExplainedText): string {
  const { subject, findings, facts, adviser, well } = explained
  const [first, ...others] = findings
  const paragraphs =
    first === undefined
      ? [wellLine(explained, well)]
      : [headlineOf(first, subject, facts.now), ...details(first, adviser(first.advice))]
  for (const other of others) {
    paragraphs.push(`Also: ${headlineOf(other, subject, facts.now)}`, ...details(other, adviser(other.advice)))
  }
  paragraphs.push(...missingPart(facts), ...unseenPart(facts))
  return `${paragraphs.join('\n\n')}\n`
}

function wellLine({ subject, findings, facts }: Explained, well: string): string {
  return verdictOf(findings, facts) === 'unknown'
    ? `${textOf(subject)}: unknown, because not all could be read.`
    : `${textOf(subject)}: ${well}`
}

function details({ evidence, stuck, sure, doubt, ...finding }: WaitFinding, advice: Advice): readonly string[] {
  const state = stuck ? 'Stuck' : 'Under way, not stuck yet'
  const how = doubt === undefined ? sure : `${sure}: ${doubt}`
  return [
    `Evidence\n${evidenceLines(evidence).join('\n')}`,
    `What to do (docs/operations.md, ${finding.advice.heading})\n${indent(adviceText(advice))}`,
    `${state}. How sure: ${how}.`,
  ]
}

function adviceText({ see, means, do: action, below }: Advice): string {
  return [`${see}: ${means}.`, `${action}`, ...(below === undefined ? [] : ['', below])].join('\n')
}

/** Returns one line for each field. Consecutive fields of the same object share a line with its name. */
function evidenceLines(evidence: readonly Evidence[]): readonly string[] {
  const lines: string[] = []
  let last = ''
  for (const { object, field, value } of evidence) {
    const name = textOf(object)
    if (name !== last) lines.push(`  ${name}`)
    last = name
    lines.push(`    ${field}: ${oneLine(value)}`)
  }
  return lines
}

/** Returns the rules that an administrator has to add to the roles of the sidecars. */
export function missingPart({ missingPermissions }: Pick<ClusterFacts, 'missingPermissions'>): readonly string[] {
  if (missingPermissions.size === 0) return []
  const lines = [...missingPermissions].flatMap(([lease, rules]) => rules.map((rule) => `  ${lease}: ${oneLine(rule)}`))
  return [`Missing permissions: add these rules to the role of the sidecar\n${lines.join('\n')}`]
}

export function unseenPart({ unseen }: Pick<ClusterFacts, 'unseen'>): readonly string[] {
  if (unseen.length === 0) return []
  return [`Not seen\n${unseen.map(({ what, why }) => `  ${what}: ${oneLine(why)}`).join('\n')}`]
}

function indent(text: string): string {
  return text
    .split('\n')
    .map((line) => (line === '' ? '' : `  ${line}`))
    .join('\n')
}

import type { Adviser } from '../advice/advice.ts'
import { type ClusterFacts, type KindRef, textOf } from '../facts/facts.ts'
import type { WaitFinding } from '../findings/finding.ts'
import { ageText } from './age.ts'

/** `well`: no object is stuck. `unknown`: no stuck object was found, but an essential read failed. */
export type ExplainVerdict = 'well' | 'stuck' | 'unknown'

export const EXIT_CODES: Readonly<Record<ExplainVerdict, number>> = { well: 0, stuck: 1, unknown: 2 }

/** An object with its findings, for the output. */
export interface Explained {
  readonly subject: KindRef
  readonly findings: readonly WaitFinding[]
  readonly facts: ClusterFacts
  readonly adviser: Adviser
}

export function verdictOf(findings: readonly WaitFinding[], { unseen }: Pick<ClusterFacts, 'unseen'>): ExplainVerdict {
  if (findings.some(({ stuck }) => stuck)) return 'stuck'
  return unseen.some(({ essential }) => essential) ? 'unknown' : 'well'
}

/** Returns one sentence about the wait of the subject, with its age. */
export function headlineOf(finding: WaitFinding, subject: KindRef, now: number): string {
  const { object, waiter, waitsFor, since, atLeast } = finding
  const objectNote = textOf(object) === textOf(subject) ? '' : ` (${textOf(object)})`
  const awaited = oneLine(waitsFor) + objectNote
  if (since === undefined) return `${textOf(subject)}: ${waiter} waits for ${awaited}; since when is unknown.`
  const age = `${atLeast ? 'at least ' : ''}${ageText(now - since)}`
  return `${textOf(subject)}: ${waiter} has been waiting ${age} for ${awaited}.`
}

/** Returns a finding as JSON without its evidence, which only explanations contain. */
export function findingJson(finding: WaitFinding, now: number): object {
  const { reason, object, waiter, waitsFor, since, atLeast, stuck, sure, doubt } = finding
  const age =
    since === undefined
      ? {}
      : { since: new Date(since).toISOString(), ageSeconds: Math.floor((now - since) / 1000), atLeast }
  return { reason, object, waiter, waitsFor, ...age, stuck, sure, doubt }
}

export function explanationJson({ subject, findings, facts, adviser }: Explained): string {
  const verdict = verdictOf(findings, facts)
  const items = findings.map((finding) => ({
    ...findingJson(finding, facts.now),
    evidence: finding.evidence,
    advice: adviser(finding.advice),
  }))
  const missingPermissions = Object.fromEntries(facts.missingPermissions)
  return jsonText({ subject, verdict, findings: items, missingPermissions, unseen: facts.unseen })
}

/** Replaces line breaks, control characters and characters that reorder text. Error messages may contain them. */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Bidi_Control}]+/gu, ' ')
}

/** Returns JSON in which characters that change the order of text on a terminal are escaped. */
export function jsonText(value: unknown): string {
  const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  return `${JSON.stringify(value, undefined, 2).replace(/\p{Bidi_Control}/gu, escaped)}\n`
}

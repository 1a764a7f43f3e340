import type { Adviser } from '../advice/advice.ts'
import { type Facts, type Ref, textOf } from '../facts/facts.ts'
import type { Finding } from '../findings/finding.ts'
import { ageText } from './age.ts'
import { jsonText, oneLine } from './one-line.ts'

/** `well`: nothing waits too long. `unknown`: nothing was found, and not all could be seen. */
export type Verdict = 'well' | 'stuck' | 'unknown'

export const EXIT_CODES: Readonly<Record<Verdict, number>> = { well: 0, stuck: 1, unknown: 2 }

export function verdictOf(findings: readonly Finding[], { unseen }: Pick<Facts, 'unseen'>): Verdict {
  if (findings.some(({ stuck }) => stuck)) return 'stuck'
  return unseen.some(({ essential }) => essential) ? 'unknown' : 'well'
}

/** What the object waits for since when, in one sentence about the object that was asked for. */
export function headlineOf(finding: Finding, subject: Ref, now: number): string {
  const { object, waiter, waitsFor, since, atLeast } = finding
  const about = textOf(object) === textOf(subject) ? '' : ` (${textOf(object)})`
  const cause = oneLine(waitsFor) + about
  if (since === undefined) return `${textOf(subject)}: ${waiter} waits for ${cause}; since when is unknown.`
  const age = `${atLeast ? 'at least ' : ''}${ageText(now - since)}`
  return `${textOf(subject)}: ${waiter} has been waiting ${age} for ${cause}.`
}

/** A finding as programs get it, without what speaks for it: who wants that asks for an explanation. */
export function findingJson(finding: Finding, now: number): object {
  const { reason, object, waiter, waitsFor, since, atLeast, stuck, sure, doubt } = finding
  const age =
    since === undefined
      ? {}
      : { since: new Date(since).toISOString(), ageSeconds: Math.floor((now - since) / 1000), atLeast }
  return { reason, object, waiter, waitsFor, ...age, stuck, sure, doubt }
}

export interface Explained {
  readonly subject: Ref
  readonly findings: readonly Finding[]
  readonly facts: Facts
  readonly adviser: Adviser
}

export function explanationJson({ subject, findings, facts, adviser }: Explained): string {
  const verdict = verdictOf(findings, facts)
  const items = findings.map((finding) => ({
    ...findingJson(finding, facts.now),
    evidence: finding.evidence,
    advice: adviser(finding.advice),
  }))
  return jsonText({ subject, verdict, findings: items, unseen: facts.unseen })
}

import type { Facts } from '../facts/facts.ts'
import { attachmentFindings } from './attachment.ts'
import { claimFindings } from './claim.ts'
import type { Finding } from './finding.ts'
import { podFindings } from './pod.ts'
import { volumeFindings } from './volume.ts'

/** All that wait, the longest wait first; what is stuck before what is only under way. Pure. */
export function findingsOf(facts: Facts): readonly Finding[] {
  const found = [
    ...facts.attachments.flatMap((va) => attachmentFindings(va, facts)),
    ...facts.claims.present.flatMap((claim) => claimFindings(claim, facts)),
    ...facts.volumes.present.flatMap((volume) => volumeFindings(volume, facts)),
    ...facts.pods.flatMap((pod) => podFindings(pod, facts)),
  ]
  return found.toSorted((a, b) => Number(b.stuck) - Number(a.stuck) || ageOrder(a, b))
}

/** The age of the others is unknown: they may be the oldest. */
function ageOrder(a: Finding, b: Finding): number {
  return (a.since ?? Number.NEGATIVE_INFINITY) - (b.since ?? Number.NEGATIVE_INFINITY) || 0
}

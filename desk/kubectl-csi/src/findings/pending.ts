import { isReason, type Operation, type Reason } from '@csi-sidecars/waits'
import { type ClusterFacts, type KindRef, textOf, timeOf } from '../facts/facts.ts'
import type { PendingItem } from '../facts/pending.ts'
import { CERTAIN, type Evidence, evidenceOf, type WaitFinding } from './finding.ts'
import { ROWS } from './rows.ts'

/** Returns the item of `/debug/stuck` about a sidecar's work on the object. */
export function pendingOf(
  { pending }: ClusterFacts,
  ref: KindRef,
  operations: readonly Operation[],
): PendingItem | undefined {
  return pending.get(textOf(ref))?.find((item) => operations.some((operation) => operation === item.operation))
}

export function pendingEvidence(item: PendingItem | undefined): readonly Evidence[] {
  if (item === undefined) return []
  const { sidecar, driver, operation, state, reason, since, tries, code, message, waitsFor, nextTry } = item
  const object: KindRef = { kind: '/debug/stuck of', name: `${sidecar} of ${driver}` }
  const work = [operation, state].filter((word) => word !== '').join(', ')
  const others = waitsFor.join(', ') || undefined
  const fields = { reason, since, tries: tries?.toString(), code, message, waitsFor: others, nextTry }
  return [{ object, field: 'state', value: work }, ...evidenceOf(object, fields)]
}

/** Returns findings for stuck work that only the sidecars report. */
export function pendingFindings({ pending }: ClusterFacts, found: readonly WaitFinding[]): readonly WaitFinding[] {
  const stuckObjects = new Set(found.filter(({ stuck }) => stuck).map(({ object }) => textOf(object)))
  return [...pending]
    .filter(([object]) => !stuckObjects.has(object))
    .flatMap(([, items]) => items.filter(({ stuck }) => stuck).map(pendingFinding))
}

function pendingFinding(item: PendingItem): WaitFinding {
  const { kind, namespace, name, reason = 'Waiting', message, waitsFor, since } = item
  return {
    reason: reasonOf(item),
    object: { kind, namespace, name },
    waiter: `${item.sidecar} of ${item.driver}, which has to ${item.operation},`,
    waitsFor: waitsFor.join(', ') || message || `what it calls ${reason}`,
    since: timeOf(since),
    atLeast: false,
    stuck: true,
    ...CERTAIN,
    evidence: pendingEvidence(item),
    advice: ROWS.pendingOnly,
  }
}

/**
 * Returns the reason that a sidecar reports. A sidecar of another version may report a reason that this version does not
 * know: the evidence contains it, and the result is `Waiting`.
 */
export function reasonOf({ reason }: PendingItem): Reason {
  return reason !== undefined && isReason(reason) ? reason : 'Waiting'
}

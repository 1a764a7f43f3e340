import { type Facts, type Ref, textOf } from '../facts/facts.ts'
import type { PendingItem } from '../facts/pending.ts'
import type { Evidence } from './finding.ts'

/** Two controllers may work on one claim at once. */
export type Operation = 'attach' | 'detach' | 'expand' | 'modify'

/** What the sidecar itself says about its work on the object. */
export function pendingOf({ pending }: Facts, ref: Ref, operations: readonly Operation[]): PendingItem | undefined {
  return pending.get(textOf(ref))?.find((item) => operations.some((operation) => operation === item.operation))
}

export function pendingEvidence(item: PendingItem | undefined): readonly Evidence[] {
  if (item === undefined) return []
  const object: Ref = { kind: '/debug/stuck of', name: `${item.sidecar} of ${item.driver}` }
  const fields: readonly (readonly [string, string | undefined])[] = [
    ['state', [item.operation, item.state].filter((word) => word !== '').join(', ')],
    ['reason', item.reason],
    ['since', item.since],
    ['tries', item.tries?.toString()],
    ['code', item.code],
    ['message', item.message],
    ['waitsFor', item.waitsFor.join(', ') || undefined],
    ['nextTry', item.nextTry],
  ]
  return fields.flatMap(([field, value]) => (value === undefined ? [] : [{ object, field, value }]))
}

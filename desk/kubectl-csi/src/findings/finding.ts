import { isStuck, type Reason, type Remedy, remedyOf } from '@csi-sidecars/waits'
import type { ClusterFacts, KindRef } from '../facts/facts.ts'
import type { OriginalName } from '../facts/leases.ts'
import type { PendingItem } from '../facts/pending.ts'

/** Evidence for a finding: one field of one object, and its value. */
export interface Evidence {
  readonly object: KindRef
  readonly field: string
  readonly value: string
}

/** Identifies a row of a table in docs/operations.md by its heading and by a unique part of its first cell. */
export interface RowKey {
  readonly heading: string
  readonly see: string
}

/**
 * `certain`: the current objects show the cause. `likely`: they suggest the cause, but others would look the same.
 * `possible`: no object contradicts the cause.
 */
export type Sureness = 'certain' | 'likely' | 'possible'

/** One wait of an object, with its evidence and advice. */
export interface WaitFinding {
  readonly reason: Reason
  readonly object: KindRef
  /** The component or operation that waits, for example `external-attacher of csi.example.com`. */
  readonly waiter: string
  /** The end of the sentence `WAITER waits for ...`. */
  readonly waitsFor: string
  /** The start of the wait, in milliseconds since 1970. Undefined if unknown. */
  readonly since: number | undefined
  /** True if the wait may have begun before `since`. */
  readonly atLeast: boolean
  /** True if a user should look at the wait. False while the work is only under way. */
  readonly stuck: boolean
  /** The remedy of the wait. Default: the usual remedy for its reason. */
  readonly remedy?: Remedy
  /** The objects whose own findings have to end first. Default: none, so the finding is the end of its chain. */
  readonly awaits?: readonly KindRef[]
  readonly sure: Sureness
  /** The reason why the finding is not certain. */
  readonly doubt: string | undefined
  readonly evidence: readonly Evidence[]
  readonly advice: RowKey
}

/** Returns evidence for the fields that have a value. */
export function evidenceOf(
  object: KindRef,
  fields: Readonly<Record<string, string | null | undefined>>,
): readonly Evidence[] {
  return Object.entries(fields).flatMap(([field, value]) => (value == null ? [] : [{ object, field, value }]))
}

interface Stuckness {
  readonly since: number | undefined
  /** The item of the sidecar's `/debug/stuck` about the work of this finding. */
  readonly pending?: PendingItem | undefined
  readonly facts: Pick<ClusterFacts, 'now' | 'stuckAfterMs'>
}

/** Reports whether a wait is stuck, by the definition of `@csi-sidecars/waits` or according to the sidecar. */
export function stuckNow(reason: Reason, { since, pending, facts }: Stuckness): boolean {
  return (
    pending?.stuck === true || isStuck(remedyOf(reason), { since, now: facts.now, olderThanMs: facts.stuckAfterMs })
  )
}

export function sidecarOf(sidecar: OriginalName, driver: string): string {
  return `${sidecar} of ${driver}`
}

export const CERTAIN = { sure: 'certain', doubt: undefined } as const

export function likely(doubt: string): { readonly sure: 'likely'; readonly doubt: string } {
  return { sure: 'likely', doubt }
}

export function possible(doubt: string): { readonly sure: 'possible'; readonly doubt: string } {
  return { sure: 'possible', doubt }
}

import { isStuck, type Remedy, remedyOf } from '@csi-sidecars/waits'
import type { ClusterFacts, KindRef } from '../facts/facts.ts'
import type { SidecarName } from '../facts/leases.ts'
import type { PendingItem } from '../facts/pending.ts'

/** One field of one object, and its value. */
export interface Evidence {
  readonly object: KindRef
  readonly field: string
  readonly value: string
}

/** The fields of an object that have a value. */
export function evidenceOf(
  object: KindRef,
  fields: Readonly<Record<string, string | null | undefined>>,
): readonly Evidence[] {
  return Object.entries(fields).flatMap(([field, value]) => (value == null ? [] : [{ object, field, value }]))
}

/** A row of the tables of docs/operations.md, by its heading and by a part of its first cell that no other row has. */
export interface RowKey {
  readonly heading: string
  readonly see: string
}

/**
 * `certain`: the objects themselves say so now. `likely`: it follows from them, and something else could look the same.
 * `possible`: nothing speaks against it.
 */
export type Sureness = 'certain' | 'likely' | 'possible'

/** One wait of an object, with its evidence and advice. */
export interface WaitFinding {
  /** One word for programs. */
  readonly reason: string
  readonly object: KindRef
  /** Who waits: `external-attacher of csi.example.com`. */
  readonly waiter: string
  /** The awaited event. The text continues `waits for`. */
  readonly waitsFor: string
  /** Milliseconds. Undefined: unknown. */
  readonly since: number | undefined
  /** It may have begun earlier than `since`. */
  readonly atLeast: boolean
  /** True if a user should look at it. False while it is only under way. */
  readonly stuck: boolean
  /** The remedy of the wait. Default: the remedy of its reason. */
  readonly remedy?: Remedy
  /** The objects whose own findings have to end first. Default: none, so the finding is the end of its chain. */
  readonly awaits?: readonly KindRef[]
  readonly sure: Sureness
  /** The reason why the finding is not certain. */
  readonly doubt: string | undefined
  readonly evidence: readonly Evidence[]
  readonly advice: RowKey
}

interface Stuckness {
  readonly since: number | undefined
  /** The item of the sidecar about the same work. */
  readonly pending?: PendingItem | undefined
  readonly facts: Pick<ClusterFacts, 'now' | 'stuckAfterMs'>
}

/** Applies the definition of `@csi-sidecars/waits`. Work that the sidecar calls stuck is always stuck. */
export function stuckNow(reason: string, { since, pending, facts }: Stuckness): boolean {
  return (
    pending?.stuck === true || isStuck(remedyOf(reason), { since, now: facts.now, olderThanMs: facts.stuckAfterMs })
  )
}

export function sidecarOf(sidecar: SidecarName, driver: string): string {
  return `${sidecar} of ${driver}`
}

export const CERTAIN = { sure: 'certain', doubt: undefined } as const

export function likely(doubt: string): { readonly sure: 'likely'; readonly doubt: string } {
  return { sure: 'likely', doubt }
}

export function possible(doubt: string): { readonly sure: 'possible'; readonly doubt: string } {
  return { sure: 'possible', doubt }
}

import type { Remedy } from './reasons.ts'

/** Defines stuck work for `kubectl csi`, `/debug/stuck` and `csi_sidecar_stuck_work`. See docs/operations.md. */

export interface Age {
  /** The start of the wait, in milliseconds since 1970. Undefined counts as long ago. */
  readonly since: number | undefined
  readonly now: number
  /** The age from which work is stuck. Default: `STUCK_AFTER_MS`. */
  readonly olderThanMs?: number
}

/** The age in milliseconds from which work is stuck. The kubelet reports missing volumes after about two minutes. */
export const STUCK_AFTER_MS = 120_000

/** Reports whether a wait is stuck: no retry helps, or it has lasted for two minutes or for `olderThanMs`. */
export function isStuck(remedy: Remedy, { since, now, olderThanMs }: Age): boolean {
  return now >= stuckFrom(remedy, since ?? Number.NEGATIVE_INFINITY, olderThanMs)
}

/** Returns the time from which a wait is stuck, in milliseconds since 1970. */
export function stuckFrom(remedy: Remedy, since: number, olderThanMs = STUCK_AFTER_MS): number {
  if (remedy === 'idle') return Number.POSITIVE_INFINITY
  return remedy === 'blocked' ? Number.NEGATIVE_INFINITY : since + olderThanMs
}

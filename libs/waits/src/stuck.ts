/** The one definition of stuck, of `kubectl csi`, `/debug/stuck` and the metric; docs/operations.md has it. */

/** From this age on work is stuck: after about two minutes the kubelet reports that it waits for its volumes. */
export const STUCK_AFTER_MS = 120_000

/** What ends a wait. */
export type Remedy =
  /** It ends by itself, or is tried again. */
  | 'retried'
  /** No retry helps: an object has to change first. */
  | 'blocked'
  /** Nothing is wrong: it waits for a user who may never come. */
  | 'idle'

/** The reasons of `/debug/stuck` and of `kubectl csi` that no retry removes. */
const NO_RETRY_HELPS: ReadonlySet<string> = new Set([
  'ClassMissing',
  'Infeasible',
  'InfeasibleSize',
  'ModifyInfeasible',
  'ModifyNotSupported',
  'NodeGone',
  'NodeResizeInfeasible',
  'PersistentVolumeMissing',
  'VolumeAttributesClassMissing',
  'VolumeGone',
  'VolumeMissing',
])

/** `given`: what is known beside the reason. */
export function remedyOf(reason: string, given: Remedy = 'retried'): Remedy {
  return NO_RETRY_HELPS.has(reason) ? 'blocked' : given
}

export interface Age {
  /** Milliseconds since 1970. Undefined: unknown, which counts as long ago. */
  readonly since: number | undefined
  readonly now: number
  readonly olderThanMs?: number
}

/** Stuck is what no retry helps, and what has waited for two minutes, or for the given time. */
export function isStuck(remedy: Remedy, { since, now, olderThanMs }: Age): boolean {
  return now >= stuckFrom(remedy, since ?? Number.NEGATIVE_INFINITY, olderThanMs)
}

/** The moment from which on a wait is stuck, if it has not ended by then. */
export function stuckFrom(remedy: Remedy, since: number, olderThanMs = STUCK_AFTER_MS): number {
  if (remedy === 'idle') return Number.POSITIVE_INFINITY
  return remedy === 'blocked' ? Number.NEGATIVE_INFINITY : since + olderThanMs
}

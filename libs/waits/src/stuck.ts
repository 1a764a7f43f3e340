/** The one definition of stuck, of `kubectl csi`, `/debug/stuck`, the metric and the page; docs/operations.md has it. */

/** From this age on work is stuck: after about two minutes the kubelet reports that it waits for its volumes. */
export const STUCK_AFTER_MS = 120_000

/** How work waits, beside its age. */
export type Patience =
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
  'NodeGone',
  'NodeResizeInfeasible',
  'PersistentVolumeMissing',
  'VolumeAttributesClassMissing',
  'VolumeGone',
  'VolumeMissing',
])

/** `given`: what is known beside the reason. */
export function patienceOf(reason: string, given: Patience = 'retried'): Patience {
  return NO_RETRY_HELPS.has(reason) ? 'blocked' : given
}

export interface Age {
  /** Milliseconds since 1970. Undefined: unknown, which counts as long ago. */
  readonly since: number | undefined
  readonly now: number
  readonly olderThanMs?: number
}

/** Stuck is what no retry helps, and what has waited for two minutes, or for the given time. */
export function isStuck(patience: Patience, { since, now, olderThanMs = STUCK_AFTER_MS }: Age): boolean {
  if (patience === 'idle') return false
  return patience === 'blocked' || since === undefined || now - since >= olderThanMs
}

import type { LostContent, SnapshotCreation } from './memory.ts'

/**
 * `delete`: the snapshot of a lost content may be deleted. `keep`: it stays, because a person may want to keep it.
 */
export type LostDecision =
  | { readonly kind: 'delete'; readonly creation: SnapshotCreation }
  | { readonly kind: 'keep'; readonly reason: string }

const keepBecause = (reason: string): LostDecision => ({ kind: 'keep', reason })

/**
 * Decides whether the snapshot of a lost content may be deleted. Only an unfinished creation of this process permits it.
 * The API server never stores a write that removes the last finalizer during a deletion. So the last state of a content
 * in deletion is unknown.
 */
export function decideLost({ content, isLastStoredState, creation }: LostContent): LostDecision {
  const { policy, deletedSeconds, beingCreated, memberOf, status } = content
  if (creation?.wasRetained === true || policy !== 'Delete') return keepBecause('its deletion policy was not Delete')
  if (deletedSeconds !== undefined) return keepBecause('its finalizers were removed during its deletion')
  if (creation === undefined || status?.handle !== undefined) return keepBecause('its finalizers were removed')
  if (!isLastStoredState) return keepBecause('its last state is unknown')
  const isChanged = !beingCreated || memberOf !== undefined || status?.groupHandle !== undefined
  return isChanged ? keepBecause('its annotations were changed') : { kind: 'delete', creation }
}

import type { QueueTrigger, Trigger } from '@csi-sidecars/controller'
import { Quantity } from '@csi-sidecars/kube-types'
import type { ResizerClaim } from '../caches/claim.ts'
import { SIZE_STATUS } from '../caches/names.ts'
import type { ResizerVolume } from '../caches/volume.ts'
import { type ClaimUpdate, claimTrigger } from '../claim/triggers.ts'

/** The trigger for claims that may need an expansion. */
export const onClaim: QueueTrigger<ResizerClaim> = (event, queue) =>
  claimTrigger((update) => matters(update, (key) => queue.isInWork(key)))(event)

/** The trigger for claims whose requested size has changed. It ends their back-off. */
export const requestChanged: Trigger<ResizerClaim> = (event) =>
  event.type === 'updated' && !sameSize(event.before.request, event.after.request) ? [event.after.key] : []

/** Reports whether this or an earlier process has begun an expansion that has not succeeded. */
export function wasTried({ sizeStatus }: ResizerClaim): boolean {
  return sizeStatus === SIZE_STATUS.controllerInProgress || sizeStatus === SIZE_STATUS.controllerInfeasible
}

/**
 * Returns the claim of a volume if the annotation with the old size may have to be removed: the annotation appears
 * while no run writes it, or the capacity of the annotated volume shrinks.
 */
export const onVolume: QueueTrigger<ResizerVolume> = (event, queue) => {
  if (event.type === 'deleted') return []
  const [before, after] = event.type === 'added' ? [undefined, event.object] : [event.before, event.after]
  const { preResize, claimNamespace, claimName } = after
  if (preResize === undefined || claimNamespace === undefined) return []
  const key = `${claimNamespace}/${claimName ?? ''}`
  if (before !== undefined && grew(after.capacity, before.capacity)) return [key]
  return before?.preResize === preResize || queue.isInWork(key) ? [] : [key]
}

function matters({ before, after, origin }: ClaimUpdate, isInWork: (key: string) => boolean): boolean {
  return (
    origin === 'resync' ||
    !sameSize(before.request, after.request) ||
    before.resizer !== after.resizer ||
    before.volumeName !== after.volumeName ||
    before.phase !== after.phase ||
    grew(before.capacity, after.capacity) ||
    (before.sizeStatus !== after.sizeStatus && !(OURS.has(after.sizeStatus) && isInWork(after.key)))
  )
}

/**
 * The statuses that the resizer writes. If one appears during a run, the run has written it, so no further run is
 * necessary.
 */
const OURS: ReadonlySet<string | undefined> = new Set([
  SIZE_STATUS.controllerInProgress,
  SIZE_STATUS.controllerInfeasible,
  SIZE_STATUS.nodePending,
])

function sameSize(before: string | undefined, after: string | undefined): boolean {
  return before === after || compare(before, after) === 0
}

function grew(before: string | undefined, after: string | undefined): boolean {
  return before !== after && compare(before, after) < 0
}

/** Compares two sizes. If a size is invalid, the first counts as smaller, so that a run reports the error. */
function compare(before: string | undefined, after: string | undefined): number {
  const [a, b] = [sizeOf(before), sizeOf(after)]
  return a !== undefined && b !== undefined ? a.compare(b) : -1
}

function sizeOf(text: string | undefined): Quantity | undefined {
  return Quantity.tryParse(text ?? '0')
}

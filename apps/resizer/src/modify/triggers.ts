import type { Source, Trigger } from '@csi-sidecars/controller'
import type { Informer } from '@csi-sidecars/informer'
import type { ResizerClaim } from '../caches/claim.ts'
import { MODIFY_STATUS } from '../caches/names.ts'
import type { AttributesClass } from '../caches/open.ts'
import { type ClaimUpdate, claimTrigger } from '../claim/triggers.ts'
import type { ModifyMemory } from './memory.ts'

/** The trigger for claims that may need another class. */
export const onClaim = claimTrigger(matters)

/** The trigger for claims whose requested class has changed. It ends their back-off. */
export const classChanged: Trigger<ResizerClaim> = (event) =>
  event.type === 'updated' && event.before.wantedClass !== event.after.wantedClass ? [event.after.key] : []

/** Reports whether this or an earlier process has begun a modification that has not succeeded. */
export function wasTried({ modifyVolumeStatus }: ResizerClaim): boolean {
  return (
    modifyVolumeStatus?.status === MODIFY_STATUS.inProgress || modifyVolumeStatus?.status === MODIFY_STATUS.infeasible
  )
}

/** Reports whether the update of a claim may require a modification. */
function matters({ before, after }: ClaimUpdate): boolean {
  if (after.phase !== 'Bound') return false
  if (before.wantedClass !== after.wantedClass || before.phase !== after.phase) return true
  return after.modifyVolumeStatus === undefined && after.wantedClass !== after.currentClass
}

/** Marks recorded modifications of earlier processes as possibly running. A process may have ended during a call. */
export function recallEarlierCalls(
  { store }: Pick<Informer<ResizerClaim, never>, 'store'>,
  { uncertain }: Pick<ModifyMemory, 'uncertain'>,
): Source {
  return () => {
    for (const { key, modifyVolumeStatus } of store.values()) {
      if (modifyVolumeStatus?.status === MODIFY_STATUS.inProgress) uncertain.add(key)
    }
    return () => undefined
  }
}

/** Forgets the driver's refusals of a class that is recreated, and enqueues the claims that target the class. */
export function retryRecreatedClasses(
  classes: Pick<Informer<AttributesClass, never>, 'subscribe'>,
  { store }: Pick<Informer<ResizerClaim, never>, 'store'>,
  { infeasibleClaims }: Pick<ModifyMemory, 'infeasibleClaims'>,
): Source {
  return (queue) =>
    classes.subscribe((event) => {
      if (event.type !== 'added') return
      for (const { key, modifyVolumeStatus } of store.values()) {
        if (modifyVolumeStatus?.target !== event.object.key) continue
        infeasibleClaims.remove(key)
        queue.forgetHistory(key)
        queue.add(key)
      }
    })
}

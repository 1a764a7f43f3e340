import {
  checked,
  endPlan,
  next,
  type PlanCheck,
  type PlanCheckResult,
  planOf,
  type WakeEvent,
} from '@csi-sidecars/controller'
import type { Patch } from '@csi-sidecars/kube-types'
import type { ResizerClaim } from '../caches/claim.ts'
import { MODIFY_STATUS } from '../caches/names.ts'
import type { AttributesClass } from '../caches/open.ts'
import type { ResizerVolume } from '../caches/volume.ts'
import type { ModifyWakeKind } from '../claim/wake-events.ts'
import type { ModifyView } from './observe.ts'
import { cancelPatch, isModifying, pendingPatch, startPatch } from './patches.ts'

export type ModifyStep =
  /** The driver has refused the same request as infeasible a short time ago, so no call is made. */
  | { readonly kind: 'skip' }
  /** The claim requests another class than the infeasible class, so the retry delay ends. */
  | { readonly kind: 'forgetRefusal' }
  | { readonly kind: 'noop'; readonly why: string; readonly waitsFor?: WakeEvent<ModifyWakeKind> }
  | { readonly kind: 'cancel'; readonly patch: Patch }
  /** A modification may be running, but cannot be finished because its target class is missing. */
  | {
      readonly kind: 'stall'
      readonly className: string
      readonly message: string
      readonly waitsFor: WakeEvent<ModifyWakeKind>
    }
  /** The requested class does not exist. */
  | {
      readonly kind: 'pend'
      readonly patch: Patch | undefined
      readonly className: string
      readonly waitsFor: WakeEvent<ModifyWakeKind>
    }
  /** Reports that the class is for another driver. As in the Go resizer, the class is applied anyway. */
  | { readonly kind: 'reportDriver'; readonly target: AttributesClass; readonly volumeDriver: string }
  /** Stores in the claim that a modification begins. */
  | { readonly kind: 'start'; readonly patch: Patch; readonly className: string }
  /** Calls ControllerModifyVolume. */
  | { readonly kind: 'modify'; readonly target: AttributesClass; readonly volume: ResizerVolume }
  | { readonly kind: 'fail'; readonly message: string; readonly waitsFor: WakeEvent<ModifyWakeKind> }

/** The view, and the class that the modification applies. */
interface ModifyFacts {
  readonly view: ModifyView
  /** True if a modification that may be running is finished first, even if its class is no longer requested. */
  readonly continues: boolean
  /** The name of the class to apply. Empty if the request is withdrawn. */
  readonly className: string
  /** The class to apply. Undefined if it does not exist. */
  readonly target: AttributesClass | undefined
}

type Result = PlanCheckResult<ModifyStep>

/** The checks of a modification. Checks that need no call come first, so that a call has all its objects. */
const MODIFY_CHECKS: readonly PlanCheck<ModifyFacts, ModifyStep>[] = [
  claimIsUnbound, // Does nothing for a claim without a PersistentVolume.
  volumeIsMissing, // Waits for the PersistentVolume.
  volumeIsForeign, // Leaves the volume of another driver to its resizer.
  claimIsNotReady, // Does nothing for a claim whose phase is not Bound.
  wasRefused, // Makes no call shortly after the driver has refused the same request as infeasible.
  refusalIsOutdated, // Ends the pause after a refusal, because the claim requests another class.
  hasRequestedClass, // Does nothing for a claim whose class is applied.
  requestIsWithdrawn, // Removes the condition of a modification that no user requests.
  classOfRunningCallIsMissing, // Waits for the class of a modification that may be running.
  classIsMissing, // Waits for the requested class.
  classIsForeign, // Reports a class of another driver, once for each claim and class.
  startIsNotRecorded, // Stores in the claim that the modification begins.
  mustBeModified, // Calls ControllerModifyVolume.
]

/** Returns the steps of a run in their order. */
export function decideModify(view: ModifyView): readonly ModifyStep[] {
  const { wantedClass, modifyVolumeStatus } = view.claim
  const isInProgress = modifyVolumeStatus?.status === MODIFY_STATUS.inProgress
  const continues = isInProgress && (view.uncertain || wantedClass === '')
  const className = continues ? modifyVolumeStatus.target : wantedClass
  return planOf(MODIFY_CHECKS, { view, continues, className, target: view.classOf(className) })
}

/** Reports whether the caches show that a run over the claim would do nothing. */
export function isClassAtRest(claim: ResizerClaim, volume: ResizerVolume | undefined): boolean {
  return volume !== undefined && hasItsClass(claim)
}

function claimIsUnbound({ view }: ModifyFacts): Result {
  return view.claim.volumeName === '' ? noop('PV bound to PVC is not created yet') : undefined
}

/** With `--node-deployment`, a volume that is not cached is on another node, and may move to this node. */
function volumeIsMissing({ view: { claim, volume, nodeDeployment } }: ModifyFacts): Result {
  if (volume !== undefined) return undefined
  const { key, volumeName } = claim
  const waitsFor = { kind: 'volume', name: volumeName } as const
  if (nodeDeployment) return endPlan({ kind: 'noop', why: 'The PV is not of this node', waitsFor })
  const message = `Get PV "${volumeName}" of pvc "${key}" in PVInformer cache failed: persistentvolume "${volumeName}" not found`
  return endPlan({ kind: 'fail', message, waitsFor })
}

function volumeIsForeign({ view: { volume } }: ModifyFacts): Result {
  return checked(volume).kind === 'own' ? undefined : noop('Skipping PV provisioned by different driver')
}

function claimIsNotReady({ view: { claim } }: ModifyFacts): Result {
  return claim.phase === 'Bound' ? undefined : noop('No need to modify PV')
}

function wasRefused({ view: { claim, isRetriedRarely } }: ModifyFacts): Result {
  return isRetriedRarely && asksForItsTarget(claim) ? endPlan({ kind: 'skip' }) : undefined
}

function refusalIsOutdated({ view: { isRetriedRarely } }: ModifyFacts): Result {
  return isRetriedRarely ? next({ kind: 'forgetRefusal' }) : undefined
}

function hasRequestedClass({ view: { claim } }: ModifyFacts): Result {
  return hasItsClass(claim) ? noop('No need to modify PVC') : undefined
}

function requestIsWithdrawn({ view: { claim }, continues }: ModifyFacts): Result {
  if (continues || claim.wantedClass !== '') return undefined
  return isModifying(claim)
    ? endPlan({ kind: 'cancel', patch: cancelPatch(claim) })
    : noop('stop reconcile for rolled back PVC')
}

function classOfRunningCallIsMissing({ continues, className, target }: ModifyFacts): Result {
  if (!continues || target !== undefined) return undefined
  const message = `get VAC with vac name ${className} in VACInformer cache failed: volumeattributesclass.storage.k8s.io "${className}" not found`
  return endPlan({ kind: 'stall', className, message, waitsFor: { kind: 'class', name: className } })
}

function classIsMissing({ view: { claim }, className, target }: ModifyFacts): Result {
  if (target !== undefined) return undefined
  return endPlan({ kind: 'pend', patch: pendingPatch(claim), className, waitsFor: { kind: 'class', name: className } })
}

function classIsForeign({ view: { volume, isClassReported }, target }: ModifyFacts): Result {
  const targetClass = checked(target)
  const volumeDriver = volume?.source?.spec?.csi?.driver ?? ''
  if (targetClass.driverName === volumeDriver || isClassReported(targetClass)) return undefined
  return next({ kind: 'reportDriver', target: targetClass, volumeDriver })
}

function startIsNotRecorded({ view: { claim, now }, continues, className }: ModifyFacts): Result {
  return continues ? undefined : next({ kind: 'start', patch: startPatch(claim, className, now), className })
}

function mustBeModified({ view: { volume }, target }: ModifyFacts): Result {
  return endPlan({ kind: 'modify', target: checked(target), volume: checked(volume) })
}

function hasItsClass({ modifyVolumeStatus, wantedClass, currentClass }: ResizerClaim): boolean {
  return modifyVolumeStatus === undefined && wantedClass === currentClass
}

function asksForItsTarget({ modifyVolumeStatus, wantedClass }: ResizerClaim): boolean {
  return modifyVolumeStatus !== undefined && wantedClass !== '' && modifyVolumeStatus.target === wantedClass
}

/** Ends the plan without work. */
function noop(why: string): Result {
  return endPlan({ kind: 'noop', why })
}

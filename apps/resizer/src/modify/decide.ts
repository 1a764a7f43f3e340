import type { WakeEvent } from '@csi-sidecars/controller'
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
  | { readonly kind: 'speedUp' }
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

/**
 * Returns the steps of a run, in order. The first check that applies ends the list, so the order of the checks decides
 * the result.
 */
export function decideModify(view: ModifyView): readonly ModifyStep[] {
  const { claim, volume } = view
  if (claim.volumeName === '') return [noop('PV bound to PVC is not created yet')]
  if (volume === undefined) return [missingVolume(view)]
  if (volume.kind !== 'own') return [noop('Skipping PV provisioned by different driver')]
  if (claim.phase !== 'Bound') return [noop('No need to modify PV')]
  if (view.slow && asksForItsTarget(claim)) return [{ kind: 'skip' }]
  const steps = decideClass(view, volume)
  return view.slow ? [{ kind: 'speedUp' }, ...steps] : steps
}

function decideClass(view: ModifyView, volume: ResizerVolume): readonly ModifyStep[] {
  const { claim, uncertain } = view
  const { wantedClass, modifying } = claim
  if (hasItsClass(claim)) return [noop('No need to modify PVC')]
  // A modification that may be running is finished before another begins, even if its class is no longer requested.
  const inProgress = modifying?.status === MODIFY_STATUS.inProgress
  if (inProgress && (uncertain || wantedClass === '')) return carryOn(view, modifying.target, volume)
  if (wantedClass === '' && isModifying(claim)) return [{ kind: 'cancel', patch: cancelPatch(claim) }]
  if (wantedClass === '') return [noop('stop reconcile for rolled back PVC')]
  const target = view.classOf(wantedClass)
  if (target === undefined) return [pend(claim)]
  return [...reportDriver(view, target, volume), start(view), { kind: 'modify', target, volume }]
}

/** Reports whether the caches show that a run over the claim would do nothing. */
export function isClassAtRest(claim: ResizerClaim, volume: ResizerVolume | undefined): boolean {
  return volume !== undefined && hasItsClass(claim)
}

function hasItsClass({ modifying, wantedClass, currentClass }: ResizerClaim): boolean {
  return modifying === undefined && wantedClass === currentClass
}

function asksForItsTarget({ modifying, wantedClass }: ResizerClaim): boolean {
  return modifying !== undefined && wantedClass !== '' && modifying.target === wantedClass
}

function carryOn(view: ModifyView, className: string, volume: ResizerVolume): readonly ModifyStep[] {
  const target = view.classOf(className)
  if (target !== undefined) return [...reportDriver(view, target, volume), { kind: 'modify', target, volume }]
  const message = `get VAC with vac name ${className} in VACInformer cache failed: volumeattributesclass.storage.k8s.io "${className}" not found`
  return [{ kind: 'stall', className, message, waitsFor: { kind: 'class', name: className } }]
}

function pend(claim: ResizerClaim): ModifyStep {
  const className = claim.wantedClass
  return { kind: 'pend', patch: pendingPatch(claim), className, waitsFor: { kind: 'class', name: className } }
}

function start({ claim, now }: ModifyView): ModifyStep {
  return { kind: 'start', patch: startPatch(claim, claim.wantedClass, now), className: claim.wantedClass }
}

/** Reports a class of another driver once for each claim and class, not with each try. */
function reportDriver(
  { reportedClass }: ModifyView,
  target: AttributesClass,
  volume: ResizerVolume,
): readonly ModifyStep[] {
  const volumeDriver = volume.source?.spec?.csi?.driver ?? ''
  if (target.driverName === volumeDriver || target.uid === reportedClass) return []
  return [{ kind: 'reportDriver', target, volumeDriver }]
}

/** Returns the step for a missing volume. With `--node-deployment`, it is on another node and may move to this node. */
function missingVolume({ claim: { key, volumeName }, nodeDeployment }: ModifyView): ModifyStep {
  const waitsFor = { kind: 'volume', name: volumeName } as const
  if (nodeDeployment) return { kind: 'noop', why: 'The PV is not of this node', waitsFor }
  const message = `Get PV "${volumeName}" of pvc "${key}" in PVInformer cache failed: persistentvolume "${volumeName}" not found`
  return { kind: 'fail', message, waitsFor }
}

function noop(why: string): ModifyStep {
  return { kind: 'noop', why }
}

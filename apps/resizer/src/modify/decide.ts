import type { Cause } from '@csi-sidecars/controller'
import type { Patch } from '@csi-sidecars/kube-types'
import type { AttributesClass } from '../caches/attributes-class.ts'
import type { Claim } from '../caches/claim.ts'
import { MODIFY_STATUS } from '../caches/names.ts'
import type { Volume } from '../caches/volume.ts'
import { isModifying } from './conditions.ts'
import type { ModifyView } from './observe.ts'
import { cancelPatch, pendingPatch, startPatch } from './patches.ts'

export type ModifyStep =
  /** The driver called the same request infeasible not long ago. */
  | { readonly do: 'skip' }
  /** The request is another one than the one that was infeasible. */
  | { readonly do: 'speedUp' }
  | { readonly do: 'rest'; readonly why: string }
  | { readonly do: 'cancel'; readonly patch: Patch }
  /** Without the class that a running modification leads to it cannot be brought to its end. */
  | { readonly do: 'stall'; readonly className: string; readonly message: string; readonly waitsFor: Cause }
  /** The class that is wanted is not there. */
  | { readonly do: 'pend'; readonly patch: Patch | undefined; readonly className: string; readonly waitsFor: Cause }
  /** Store that a modification begins. */
  | { readonly do: 'start'; readonly patch: Patch; readonly className: string }
  /** The last step of a modification that is due. */
  | { readonly do: 'modify'; readonly target: AttributesClass; readonly volume: Volume }
  | { readonly do: 'fail'; readonly message: string; readonly waitsFor: Cause }

/** The steps up to the call of the driver, in the order in which they go over the wire. */
export function decideModify(view: ModifyView): readonly ModifyStep[] {
  const { claim, volume } = view
  if (claim.volumeName === '') return [rest('PV bound to PVC is not created yet')]
  if (volume === undefined) return [missingVolume(claim)]
  if (volume.kind !== 'own') return [rest('Skipping PV provisioned by different driver')]
  if (claim.phase !== 'Bound') return [rest('No need to modify PV')]
  const { wantedClass, modifying } = claim
  const sameRequest = modifying !== undefined && wantedClass !== '' && modifying.target === wantedClass
  if (sameRequest && view.slow) return [{ do: 'skip' }]
  const steps = modifyOrRest(view, volume)
  return view.slow ? [{ do: 'speedUp' }, ...steps] : steps
}

function modifyOrRest(view: ModifyView, volume: Volume): readonly ModifyStep[] {
  const { claim, uncertain } = view
  const { wantedClass, currentClass, modifying } = claim
  if (modifying === undefined && wantedClass === currentClass) return [rest('No need to modify PVC')]
  const inProgress = modifying?.status === MODIFY_STATUS.inProgress
  if (wantedClass === '' && !inProgress) {
    return isModifying(claim)
      ? [{ do: 'cancel', patch: cancelPatch(claim) }]
      : [rest('stop reconcile for rolled back PVC')]
  }
  // What may be running has to end before anything else begins, whatever is wanted now.
  if (inProgress && (uncertain || wantedClass === '')) return [carryOn(view, modifying.target, volume)]
  return begin(view, volume)
}

function carryOn({ classOf }: ModifyView, className: string, volume: Volume): ModifyStep {
  const target = classOf(className)
  if (target !== undefined) return { do: 'modify', target, volume }
  const message = `get VAC with vac name ${className} in VACInformer cache failed: ${notFound(className)}`
  return { do: 'stall', className, message, waitsFor: { on: 'class', name: className } }
}

function begin({ claim, classOf, now }: ModifyView, volume: Volume): readonly ModifyStep[] {
  const className = claim.wantedClass
  const target = classOf(className)
  if (target === undefined) {
    return [{ do: 'pend', patch: pendingPatch(claim), className, waitsFor: { on: 'class', name: className } }]
  }
  return [
    { do: 'start', patch: startPatch(claim, className, now), className },
    { do: 'modify', target, volume },
  ]
}

function missingVolume({ key, volumeName }: Claim): ModifyStep {
  const message = `Get PV "${volumeName}" of pvc "${key}" in PVInformer cache failed: persistentvolume "${volumeName}" not found`
  return { do: 'fail', message, waitsFor: { on: 'volume', name: volumeName } }
}

function notFound(className: string): string {
  return `volumeattributesclass.storage.k8s.io "${className}" not found`
}

function rest(why: string): ModifyStep {
  return { do: 'rest', why }
}

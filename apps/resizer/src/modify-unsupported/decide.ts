import { endPlan, type PlanCheck, type PlanCheckResult, planOf, type WakeEvent } from '@csi-sidecars/controller'
import type { ResizerClaim } from '../caches/claim.ts'
import type { ResizerVolume } from '../caches/volume.ts'

/** A claim and its volume, read at one moment. */
export interface UnsupportedView {
  readonly claim: ResizerClaim
  readonly volume: ResizerVolume | undefined
}

/** The events that a claim waits for: its PersistentVolume, and a driver with the capability MODIFY_VOLUME. */
export type UnsupportedWakeKind = 'volume' | 'capability'

export type UnsupportedStep =
  /** Waits for the PersistentVolume. */
  | { readonly kind: 'awaitVolume'; readonly waitsFor: WakeEvent<UnsupportedWakeKind> }
  /** Reports that the driver cannot apply the class, and waits for a driver that can. */
  | { readonly kind: 'report'; readonly className: string; readonly waitsFor: WakeEvent<UnsupportedWakeKind> }

type Result = PlanCheckResult<UnsupportedStep>

/** The checks of a claim whose driver cannot modify volumes. */
const UNSUPPORTED_CHECKS: readonly PlanCheck<UnsupportedView, UnsupportedStep>[] = [
  classIsNotRequested, // Does nothing for a claim that needs no other class.
  volumeIsMissing, // Waits for the PersistentVolume.
  volumeIsForeign, // Leaves the volume of another driver to its resizer.
  classCannotBeApplied, // Reports it.
]

/** Returns the steps for a claim whose driver cannot modify volumes. */
export function decideUnsupported(view: UnsupportedView): readonly UnsupportedStep[] {
  return planOf(UNSUPPORTED_CHECKS, view)
}

/** Reports whether the claim requests another class than its class. */
export function asksForClass({ phase, wantedClass, currentClass }: ResizerClaim): boolean {
  return phase === 'Bound' && wantedClass !== '' && wantedClass !== currentClass
}

function classIsNotRequested({ claim }: UnsupportedView): Result {
  return asksForClass(claim) ? undefined : endPlan()
}

function volumeIsMissing({ claim, volume }: UnsupportedView): Result {
  if (volume !== undefined) return undefined
  return endPlan({ kind: 'awaitVolume', waitsFor: { kind: 'volume', name: claim.volumeName } })
}

function volumeIsForeign({ volume }: UnsupportedView): Result {
  return volume?.kind === 'own' ? undefined : endPlan()
}

function classCannotBeApplied({ claim }: UnsupportedView): Result {
  const waitsFor = { kind: 'capability', name: 'MODIFY_VOLUME' } as const
  return endPlan({ kind: 'report', className: claim.wantedClass, waitsFor })
}

import { unreachable } from '@csi-sidecars/base'
import { next, type PlanCheck, type PlanCheckResult, planOf } from '@csi-sidecars/controller'
import { hasStaleError } from './checks.ts'
import { decideAttach } from './decide-attach.ts'
import { decideDetach } from './decide-detach.ts'
import type { AttachmentView } from './observe.ts'
import type { AttachStep, DetachStep } from './steps.ts'

/** The steps that are due for an attachment. `keep`: the volume stays attached, and no step calls the driver. */
export type AttachmentPlan =
  | { readonly operation: 'attach'; readonly steps: readonly AttachStep[] }
  | { readonly operation: 'detach'; readonly steps: readonly DetachStep[] }
  | { readonly operation: 'keep'; readonly steps: readonly KeepStep[] }

export type KeepStep =
  /** Restores our finalizer, which another writer has removed. Without it, no unpublish would follow. */
  | { readonly kind: 'restoreFinalizer'; readonly finalizer: string }
  /** Clears the attach error of a volume that is attached nevertheless. */
  | { readonly kind: 'clearError' }

export function decide(view: AttachmentView): AttachmentPlan {
  const operation = operationOf(view)
  switch (operation) {
    case 'attach':
      return { operation, steps: decideAttach(view) }
    case 'detach':
      return { operation, steps: decideDetach(view) }
    case 'keep':
      return { operation, steps: decideKeep(view) }
    default:
      return unreachable(operation)
  }
}

export function operationOf({
  va,
  listingDiffers,
}: Pick<AttachmentView, 'va' | 'listingDiffers'>): AttachmentPlan['operation'] {
  if (va.deleting) return 'detach'
  return va.attached === true && !listingDiffers ? 'keep' : 'attach'
}

type KeepCheck = PlanCheck<AttachmentView, KeepStep>

/** The checks of an attached volume. */
const KEEP_CHECKS: readonly KeepCheck[] = [
  finalizerWasRemoved, // Restores our finalizer. Only a finalizer whose removal this process has seen is restored.
  errorIsOutdated, // Clears the attach error, because the driver lists the volume as published.
]

/** Returns the steps for an attached volume in their order. */
export function decideKeep(view: AttachmentView): readonly KeepStep[] {
  return planOf(KEEP_CHECKS, view)
}

function finalizerWasRemoved({ va, finalizerRemoved, settings }: AttachmentView): PlanCheckResult<KeepStep> {
  const { finalizer } = settings
  if (!finalizerRemoved || va.finalizers?.includes(finalizer)) return undefined
  return next({ kind: 'restoreFinalizer', finalizer })
}

function errorIsOutdated({ va, listingAgrees, settings }: AttachmentView): PlanCheckResult<KeepStep> {
  return listingAgrees && hasStaleError(va, settings.finalizer) ? next({ kind: 'clearError' }) : undefined
}

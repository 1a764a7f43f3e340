import { unreachable } from '@csi-sidecars/base'
import { hasStaleError } from './checks.ts'
import { type AttachStep, decideAttach } from './decide-attach.ts'
import { type DetachStep, decideDetach } from './decide-detach.ts'
import type { AttachmentView } from './observe.ts'

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

/** Plans the steps for an attached volume. Only a finalizer whose removal this process has seen is restored. */
export function decideKeep({ va, finalizerRemoved, listingAgrees, settings }: AttachmentView): readonly KeepStep[] {
  const { finalizer } = settings
  const steps: KeepStep[] = []
  if (finalizerRemoved && !va.finalizers?.includes(finalizer)) steps.push({ kind: 'restoreFinalizer', finalizer })
  if (listingAgrees && hasStaleError(va, finalizer)) steps.push({ kind: 'clearError' })
  return steps
}

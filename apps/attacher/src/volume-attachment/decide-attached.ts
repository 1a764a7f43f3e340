import type { Attachment } from '../caches/attachment.ts'
import type { AttachmentView } from './observe.ts'

export type AttachedStep =
  /** Another writer has removed our finalizer, and the volume is published: without it nothing would unpublish it. */
  | { readonly do: 'restoreFinalizer'; readonly finalizer: string }
  /** An attach that was not needed has failed. */
  | { readonly do: 'clearError' }

/** What is left to do for an attachment that is attached, without any call. */
export function decideAttached({ va, stripped, confirmed, settings }: AttachmentView): readonly AttachedStep[] {
  const { finalizer } = settings
  const steps: AttachedStep[] = []
  // One that lacked it when it was first seen is left alone.
  if (stripped && !va.finalizers?.includes(finalizer)) steps.push({ do: 'restoreFinalizer', finalizer })
  if (confirmed && hasStaleError(va, finalizer)) steps.push({ do: 'clearError' })
  return steps
}

/** Whether an error beside a status is out of date once the driver lists what the status says. */
export function hasStaleError(va: Attachment, finalizer: string): boolean {
  if (va.attached === true) return va.attachError !== undefined
  const isDetached = va.deleting && !va.finalizers?.includes(finalizer)
  return isDetached && (va.detachError !== undefined || va.metadata !== undefined)
}

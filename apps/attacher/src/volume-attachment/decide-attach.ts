import { type PlanCheck, planOf } from '@csi-sidecars/controller'
import {
  accessModesAreUnsupported,
  attachmentLacksFinalizer,
  csiNodeHasNoId,
  secretIsReferenced,
  sourceIsUnknown,
  volumeIsDeleting,
  volumeLacksFinalizer,
  volumeMustBePublished,
} from './checks.ts'
import { type AttachFacts, attachFacts } from './facts.ts'
import type { AttachmentView } from './observe.ts'
import type { AttachStep } from './steps.ts'

/** The checks of an attach. Our finalizer on the attachment blocks its deletion, so checks that can fail come first. */
const ATTACH_CHECKS: readonly PlanCheck<AttachFacts, AttachStep>[] = [
  volumeIsDeleting, // Fails if the volume is being deleted.
  volumeLacksFinalizer, // Adds our finalizer to the volume, because an attached volume must not be deleted.
  sourceIsUnknown, // Fails if the attachment has no usable volume source.
  accessModesAreUnsupported, // Fails if CSI cannot express the access modes.
  secretIsReferenced, // Reads the Secret of the volume, for this call only.
  csiNodeHasNoId, // Fails if the driver has no ID for the node.
  attachmentLacksFinalizer, // Stores our finalizer and the node ID. After that only an unpublish removes the finalizer.
  volumeMustBePublished, // Calls ControllerPublishVolume.
]

/** Returns the steps of an attach in the order of their requests. */
export function decideAttach(view: AttachmentView): readonly AttachStep[] {
  return planOf(ATTACH_CHECKS, attachFacts(view))
}

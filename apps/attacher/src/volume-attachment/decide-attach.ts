import { messageOf } from '@csi-sidecars/base'
import { checked, last, next, type PlanCheck, type PlanCheckResult, planOf } from '@csi-sidecars/controller'
import { volumeCapabilityOf } from '@csi-sidecars/csi'
import type { VolumeCapability } from '@csi-sidecars/csi-proto'
import { callSource, type PublishRequest, type UsableSource, usable } from '../volumes/call-source.ts'
import { nodeIdIn, pvOf } from '../volumes/volume-view.ts'
import {
  type CallFacts,
  type FailStep,
  type LoadSecretStep,
  nodeFailure,
  secretIsReferenced,
  sourceIsUnknown,
  volumeFailure,
} from './checks.ts'
import type { AttachmentView } from './observe.ts'
import { addFinalizerPatch, type PublishNote } from './patches.ts'

export type AttachStep =
  /** Adds our finalizer to the PersistentVolume. The later steps are decided again after this step. */
  | { readonly kind: 'addVolumeFinalizer'; readonly name: string }
  | LoadSecretStep
  | ({ readonly kind: 'addFinalizer' } & PublishNote)
  | { readonly kind: 'publish'; readonly request: PublishRequest; readonly migrated: boolean }
  | FailStep

interface AttachFacts extends CallFacts {
  /** The volume's capability. Undefined for an unknown volume or inexpressible access modes. */
  readonly capability?: VolumeCapability
  /** The message if CSI cannot express the access modes. */
  readonly modesError?: string
}

/** The checks of an attach. Our finalizer on the attachment blocks its deletion, so checks that can fail come first. */
const ATTACH_CHECKS: readonly PlanCheck<AttachFacts, AttachStep>[] = [
  volumeIsDeleting, // Fails if the volume is being deleted.
  volumeLacksFinalizer, // Adds our finalizer to the volume, because an attached volume must not be deleted.
  sourceIsUnknown, // Fails if the attachment has no usable volume source.
  accessModesAreUnsupported, // Fails if CSI cannot express the access modes.
  secretIsReferenced, // Reads the Secret of the volume, for this call only.
  nodeIsUnknown, // Fails if the driver has no ID for the node.
  attachmentLacksFinalizer, // Stores our finalizer and the node ID. After that only an unpublish removes the finalizer.
  volumeMustBePublished, // Calls ControllerPublishVolume.
]

/** Returns the steps of an attach in the order of their requests. */
export function decideAttach(view: AttachmentView): readonly AttachStep[] {
  const source = callSource(view.volume)
  return planOf(ATTACH_CHECKS, { view, source, ...(source.ok && capabilityOf(view, source)) })
}

type AttachCheck = PlanCheckResult<AttachStep>

function volumeIsDeleting({ view: { volume } }: AttachFacts): AttachCheck {
  const pv = pvOf(volume)
  if (pv?.deleting !== true) return undefined
  return last(volumeFailure(volume, `PersistentVolume "${pv.key}" is marked for deletion`, 'PersistentVolumeDeleting'))
}

function volumeLacksFinalizer({ view: { volume, settings } }: AttachFacts): AttachCheck {
  const pv = pvOf(volume)
  if (pv === undefined || pv.finalizers?.includes(settings.finalizer)) return undefined
  return next({ kind: 'addVolumeFinalizer', name: pv.key })
}

function accessModesAreUnsupported({ view, modesError }: AttachFacts): AttachCheck {
  return modesError === undefined ? undefined : last(volumeFailure(view.volume, modesError))
}

function nodeIsUnknown({ view }: AttachFacts): AttachCheck {
  return nodeIdIn(view.node) === undefined ? last(nodeFailure(view)) : undefined
}

function attachmentLacksFinalizer({ view, source }: AttachFacts): AttachCheck {
  const { va, volume, node, settings } = view
  const pv = settings.recoverLostVolumes ? pvOf(volume) : undefined
  const note: PublishNote = {
    nodeId: checked(nodeIdIn(node)),
    finalizer: settings.finalizer,
    ...(pv && { remember: { handle: usable(source).csi.volumeHandle, uid: pv.uid } }),
  }
  return addFinalizerPatch(va, note) === undefined ? undefined : next({ kind: 'addFinalizer', ...note })
}

function volumeMustBePublished({ view, source, capability }: AttachFacts): AttachCheck {
  const { csi, migrated } = usable(source)
  const request: PublishRequest = {
    volumeId: csi.volumeHandle,
    nodeId: checked(nodeIdIn(view.node)),
    volumeCapability: checked(capability),
    readonly: csi.readOnly === true && view.capabilities.publishReadonly,
    volumeContext: csi.volumeAttributes ?? {},
  }
  return last({ kind: 'publish', request, migrated })
}

function capabilityOf(
  { capabilities, settings }: AttachmentView,
  { spec, csi }: UsableSource,
): Pick<AttachFacts, 'capability' | 'modesError'> {
  const fsType = csi.fsType || settings.defaultFsType
  try {
    return { capability: volumeCapabilityOf({ ...spec, fsType }, capabilities.singleNodeMultiWriter) }
  } catch (error) {
    return { modesError: messageOf(error) }
  }
}

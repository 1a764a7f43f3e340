import { messageOf } from '@csi-sidecars/base'
import { volumeCapabilityOf } from '@csi-sidecars/csi'
import type { VolumeCapability } from '@csi-sidecars/csi-proto'
import { callSource, type PublishRequest, type UsableSource, usable } from '../volumes/call-source.ts'
import { nodeIdIn, pvOf } from '../volumes/volume-view.ts'
import {
  type CallFacts,
  checked,
  type FailStep,
  type LoadSecretStep,
  last,
  next,
  nodeFailure,
  type PlanCheck,
  type PlanCheckResult,
  planOf,
  secretIsReferenced,
  sourceIsUnknown,
  volumeFailure,
} from './checks.ts'
import type { AttachmentView } from './observe.ts'
import { addFinalizerPatch, type PublishNote } from './patches.ts'

export type AttachStep =
  /** The rest of the plan is decided again after this step. */
  | { readonly do: 'addVolumeFinalizer'; readonly name: string }
  | LoadSecretStep
  | ({ readonly do: 'addFinalizer' } & PublishNote)
  | { readonly do: 'publish'; readonly request: PublishRequest; readonly migrated: boolean }
  | FailStep

interface AttachFacts extends CallFacts {
  /** Undefined without a source, and if CSI cannot express the access modes. */
  readonly capability?: VolumeCapability
  /** The message if CSI cannot express the access modes. */
  readonly modesError?: string
}

/** The checks of an attach. All that can fail without the driver comes before our finalizer, which blocks the deletion. */
const ATTACH_CHECKS: readonly PlanCheck<AttachFacts, AttachStep>[] = [
  volumeIsDeleting, // Fails: a volume that is being deleted must not be attached.
  volumeLacksFinalizer, // Adds it: an attached volume must not be deleted.
  sourceIsUnknown, // Fails: nothing can be named to the driver.
  accessModesAreUnsupported, // Fails: CSI cannot express the access modes.
  secretIsReferenced, // Reads it, for this call only.
  nodeIsUnknown, // Fails: the node has no ID at this driver.
  attachmentLacksFinalizer, // Stores it with the node ID: from here on only an unpublish releases the attachment.
  volumeMustBePublished, // Calls the driver.
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
  return next({ do: 'addVolumeFinalizer', name: pv.key })
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
  return addFinalizerPatch(va, note) === undefined ? undefined : next({ do: 'addFinalizer', ...note })
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
  return last({ do: 'publish', request, migrated })
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

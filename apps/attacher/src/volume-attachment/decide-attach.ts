import { invariant, messageOf } from '@csi-sidecars/base'
import { volumeCapabilityOf } from '@csi-sidecars/csi'
import type { VolumeCapability } from '@csi-sidecars/csi-proto'
import { callSource, type PublishRequest, type UsableSource, usable } from '../volumes/call-source.ts'
import {
  type CallFacts,
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
  /** A message if CSI cannot express the access modes; undefined without a source. */
  readonly capability: VolumeCapability | string | undefined
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
  return planOf(ATTACH_CHECKS, { view, source, capability: source.ok ? capabilityOf(view, source) : undefined })
}

type AttachCheck = PlanCheckResult<AttachStep>

function volumeIsDeleting({ view: { volume } }: AttachFacts): AttachCheck {
  if (volume.from !== 'pv' || volume.pv?.deleting !== true) return undefined
  const message = `PersistentVolume "${volume.name}" is marked for deletion`
  return last(volumeFailure(volume, message, 'PersistentVolumeDeleting'))
}

function volumeLacksFinalizer({ view: { volume, settings } }: AttachFacts): AttachCheck {
  if (volume.from !== 'pv' || volume.pv === undefined || volume.pv.finalizers?.includes(settings.finalizer))
    return undefined
  return next({ do: 'addVolumeFinalizer', name: volume.name })
}

function accessModesAreUnsupported({ view, capability }: AttachFacts): AttachCheck {
  return typeof capability === 'string' ? last(volumeFailure(view.volume, capability)) : undefined
}

function nodeIsUnknown({ view }: AttachFacts): AttachCheck {
  return view.node.known === 'id' ? undefined : last(nodeFailure(view))
}

function attachmentLacksFinalizer({ view, source }: AttachFacts): AttachCheck {
  const { va, volume, settings } = view
  const { finalizer, recoverLostVolumes } = settings
  const note: PublishNote = {
    nodeId: knownNodeId(view),
    finalizer,
    ...(recoverLostVolumes &&
      volume.from === 'pv' &&
      volume.pv !== undefined && { remember: { handle: usable(source).csi.volumeHandle, uid: volume.pv.uid } }),
  }
  return addFinalizerPatch(va, note) === undefined ? undefined : next({ do: 'addFinalizer', ...note })
}

function volumeMustBePublished({ view, source, capability }: AttachFacts): AttachCheck {
  const { csi, migrated } = usable(source)
  invariant(typeof capability === 'object', 'the access modes were checked')
  const request: PublishRequest = {
    volumeId: csi.volumeHandle,
    nodeId: knownNodeId(view),
    volumeCapability: capability,
    readonly: csi.readOnly === true && view.capabilities.publishReadonly,
    volumeContext: csi.volumeAttributes ?? {},
  }
  return last({ do: 'publish', request, migrated })
}

function knownNodeId({ node }: AttachmentView): string {
  invariant(node.known === 'id', 'the node was checked')
  return node.nodeId
}

/** Returns the message if CSI cannot express the access modes. */
function capabilityOf(
  { capabilities, settings }: AttachmentView,
  { spec, csi }: UsableSource,
): VolumeCapability | string {
  const fsType = csi.fsType || settings.defaultFsType
  try {
    return volumeCapabilityOf({ ...spec, fsType }, capabilities.singleNodeMultiWriter)
  } catch (error) {
    return messageOf(error)
  }
}

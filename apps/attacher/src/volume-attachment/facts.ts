import { messageOf } from '@csi-sidecars/base'
import { volumeCapabilityOf } from '@csi-sidecars/csi'
import type { VolumeCapability } from '@csi-sidecars/csi-proto'
import type { CachedVolume } from '../caches/volume.ts'
import { callSource, type PublishSource, type UsableSource } from '../volumes/call-source.ts'
import { nodeIdIn, pvOf } from '../volumes/volume-view.ts'
import type { AttachmentView } from './observe.ts'

/** The input of the checks: the observed state of an attachment, and the source of its volume. */
export interface CallFacts {
  readonly view: AttachmentView
  readonly source: PublishSource
}

/** The input of the checks of an attach. */
export interface AttachFacts extends CallFacts {
  /** The PersistentVolume. Undefined if it is missing, or the volume is inline. */
  readonly pv: CachedVolume | undefined
  /** The node ID in the CSINode. Undefined if the CSINode is missing, or lacks the driver. */
  readonly nodeId: string | undefined
  /** The volume's capability. Undefined for an unknown volume or inexpressible access modes. */
  readonly capability?: VolumeCapability
  /** The message if CSI cannot express the access modes. */
  readonly modesError?: string
}

/** Computes the input of the checks of an attach. */
export function attachFacts(view: AttachmentView): AttachFacts {
  const source = callSource(view.volume)
  const [pv, nodeId] = [pvOf(view.volume), nodeIdIn(view.node)]
  return { view, source, pv, nodeId, ...(source.ok && capabilityOf(view, source)) }
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

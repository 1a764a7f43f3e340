import type { ControllerUnpublishVolumeRequest } from '@csi-sidecars/csi-proto'
import { callSource } from './call-source.ts'
import { type AttachStep, anew, fail, nodeFailure, secretOf } from './decide-attach.ts'
import type { AttachmentView } from './observe.ts'

export type UnpublishRequest = Omit<ControllerUnpublishVolumeRequest, 'secrets'>

export type DetachStep =
  | Extract<AttachStep, { do: 'loadSecret' | 'fail' }>
  | { readonly do: 'unpublish'; readonly request: UnpublishRequest; readonly migrated: boolean }
  /** Let the attachment go. Before the status: a finalizer beside attached=false would read as "maybe published". */
  | { readonly do: 'unclaim'; readonly finalizer: string }
  /** The volume is detached already, and only the status may not say so. */
  | { readonly do: 'tellDetached' }

/**
 * The steps of a detach in the order in which they go over the wire; none when the volume counts as detached.
 * Whether the volume is being deleted does not matter, and a node that is gone is known by the annotation.
 */
export function decideDetach(view: AttachmentView): readonly DetachStep[] {
  const { va, volume, forced, settings } = view
  const claimed = va.finalizers?.includes(settings.finalizer) === true
  if (!claimed && !forced) return view.owesStatus ? [{ do: 'tellDetached' }] : []
  const source = callSource(volume)
  if (!source.ok) return [fail(source.message, anew(volume))]
  const { csi, migrated } = source
  const steps: DetachStep[] = []
  const secret = secretOf(csi.controllerPublishSecretRef)
  if (secret !== undefined) steps.push({ do: 'loadSecret', ref: secret })
  const nodeId = view.node.known === 'id' ? view.node.nodeId : va.nodeId
  if (nodeId === undefined) return [...steps, nodeFailure(view)]
  steps.push({ do: 'unpublish', request: { volumeId: csi.volumeHandle, nodeId }, migrated })
  if (claimed) steps.push({ do: 'unclaim', finalizer: settings.finalizer })
  return steps
}

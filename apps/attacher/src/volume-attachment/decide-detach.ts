import { callSource } from './call-source.ts'
import { type AttachStep, fail, nodeFailure, retryWhenRecreated, secretOf } from './decide-attach.ts'
import type { AttachmentView } from './observe.ts'
import type { UnpublishRequest } from './requests.ts'

export type DetachStep =
  | Extract<AttachStep, { do: 'loadSecret' | 'fail' }>
  | { readonly do: 'unpublish'; readonly request: UnpublishRequest; readonly migrated: boolean }
  /** Let the attachment go. Before the status: a finalizer beside attached=false would read as "maybe published". */
  | { readonly do: 'removeFinalizer'; readonly finalizer: string }
  /** The volume is detached already, and only the status may not say so. */
  | { readonly do: 'markDetached' }

/**
 * The steps of a detach in the order in which they go over the wire; none when the volume counts as detached.
 * Whether the volume is being deleted does not matter, and a node that is gone is known by the annotation.
 */
export function decideDetach(view: AttachmentView): readonly DetachStep[] {
  const { va, volume, forced, settings } = view
  const hasFinalizer = va.finalizers?.includes(settings.finalizer) === true
  if (!hasFinalizer && !forced) return view.statusPending ? [{ do: 'markDetached' }] : []
  const source = callSource(volume)
  if (!source.ok) return [fail(source.message, retryWhenRecreated(volume))]
  const { csi, migrated } = source
  const steps: DetachStep[] = []
  const secret = secretOf(csi.controllerPublishSecretRef)
  if (secret !== undefined) steps.push({ do: 'loadSecret', ref: secret })
  const nodeId = nodeIdOf(view, csi.volumeHandle)
  if (nodeId === undefined) return [...steps, nodeFailure(view)]
  steps.push({ do: 'unpublish', request: { volumeId: csi.volumeHandle, nodeId }, migrated })
  if (hasFinalizer) steps.push({ do: 'removeFinalizer', finalizer: settings.finalizer })
  return steps
}

/**
 * What the node says, else what it said; but where this process has published the volume under another id of the node,
 * that one. With neither of the first two it is an error, as it is after a restart.
 */
function nodeIdOf({ published, node, va }: AttachmentView, volumeId: string): string | undefined {
  const stored = node.known === 'id' ? node.nodeId : va.nodeId
  const last = published.findLast(({ request }) => request.volumeId === volumeId)
  return stored === undefined ? undefined : (last?.request.nodeId ?? stored)
}

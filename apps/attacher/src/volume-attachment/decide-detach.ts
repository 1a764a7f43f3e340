import type { Cause } from '@csi-sidecars/controller'
import type { UnpublishRequest } from '../volumes/call-source.ts'
import { type CallSource, callSource } from '../volumes/call-source.ts'
import type { VolumeView } from '../volumes/volume-view.ts'
import { type AttachStep, fail, nodeFailure, retryWhenRecreated, secretOf } from './decide-attach.ts'
import { hasStaleError } from './decide-attached.ts'
import type { AttachmentView } from './observe.ts'

export type DetachStep =
  | Extract<AttachStep, { do: 'loadSecret' | 'fail' }>
  | {
      readonly do: 'unpublish'
      readonly request: UnpublishRequest
      readonly migrated: boolean
      /** By what the attachment remembers of it, since its PersistentVolume is gone. */
      readonly lost?: true
    }
  /** The caches may be behind: what follows must not happen while the volume is there. */
  | { readonly do: 'confirmLost'; readonly name: string }
  /** The volume's handle is unknown: nothing helps but its PersistentVolume. */
  | { readonly do: 'block'; readonly message: string; readonly waitsFor: Cause }
  /** Remove the finalizer. Before the status: a finalizer beside attached=false would read as "maybe published". */
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
  if (!hasFinalizer && !forced) {
    const isStale = view.statusPending || (view.confirmed && hasStaleError(va, settings.finalizer))
    return isStale ? [{ do: 'markDetached' }] : []
  }
  if (hasFinalizer && !forced && view.lostDetached) return [removeFinalizer(settings)]
  const source = callSource(volume)
  const replaced = whyReplaced(view, source)
  if (replaced !== undefined) return [replaced]
  if (!source.ok)
    return isLost(volume) ? detachLost(view, source.message) : [fail(source.message, retryWhenRecreated(volume))]
  const { csi, migrated } = source
  const steps: DetachStep[] = []
  const secret = secretOf(csi.controllerPublishSecretRef)
  if (secret !== undefined) steps.push({ do: 'loadSecret', ref: secret })
  const nodeId = nodeIdOf(view, csi.volumeHandle)
  if (nodeId === undefined) return [...steps, nodeFailure(view)]
  steps.push({ do: 'unpublish', request: { volumeId: csi.volumeHandle, nodeId }, migrated })
  if (hasFinalizer) steps.push(removeFinalizer(settings))
  return steps
}

function removeFinalizer({ finalizer }: AttachmentView['settings']): DetachStep {
  return { do: 'removeFinalizer', finalizer }
}

type LostVolume = VolumeView & { readonly from: 'pv' }

function isLost(volume: VolumeView): volume is LostVolume {
  return volume.from === 'pv' && volume.pv === undefined
}

/** By what the attachment remembers, where that is wanted and known; else nothing can be named to the driver. */
function detachLost(view: AttachmentView, message: string): readonly DetachStep[] {
  const { va, volume, settings } = view
  const { name } = volume as LostVolume
  const nodeId = va.remembered && nodeIdOf(view, va.remembered.handle)
  if (!settings.recoverLostVolumes || va.remembered === undefined || nodeId === undefined) {
    return [block(message, { on: 'volume', name })]
  }
  const request = { volumeId: va.remembered.handle, nodeId }
  return [
    { do: 'confirmLost', name },
    { do: 'unpublish', request, migrated: false, lost: true },
    removeFinalizer(settings),
  ]
}

/** Another volume has the name of the one that was published: its handle says nothing about that one. */
function whyReplaced({ va, volume, settings }: AttachmentView, source: CallSource): DetachStep | undefined {
  const { remembered } = va
  if (!settings.recoverLostVolumes || remembered === undefined || volume.from !== 'pv' || volume.pv === undefined)
    return undefined
  if (volume.pv.uid === remembered.uid || (source.ok && source.csi.volumeHandle === remembered.handle)) return undefined
  const what = `PersistentVolume "${volume.name}" was made again since it was attached`
  const message = `${what}: its uid is ${volume.pv.uid}, that of the attached one was ${remembered.uid}`
  return block(message, { on: 'volumeGone', name: volume.name })
}

function block(message: string, waitsFor: Cause): DetachStep {
  return { do: 'block', message, waitsFor }
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

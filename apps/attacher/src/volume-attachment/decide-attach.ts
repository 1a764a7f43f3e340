import { messageOf } from '@csi-sidecars/base'
import type { Cause } from '@csi-sidecars/controller'
import { volumeCapabilityOf } from '@csi-sidecars/csi'
import type { VolumeCapability } from '@csi-sidecars/csi-proto'
import type { PersistentVolumeSpec } from '@csi-sidecars/kube-types'
import type { PublishRequest, SecretRef } from '../volumes/call-source.ts'
import { type CallSource, callSource } from '../volumes/call-source.ts'
import type { VolumeView } from '../volumes/volume-view.ts'
import type { AttachmentView } from './observe.ts'
import { addFinalizerPatch, type PublishNote } from './patches.ts'

export type AttachStep =
  /** The volume must not be deleted while it is attached. After this step the rest is decided again. */
  | { readonly do: 'addVolumeFinalizer'; readonly name: string }
  | { readonly do: 'loadSecret'; readonly ref: SecretRef }
  /** Store finalizer and node id: from here on only an unpublish releases the attachment. */
  | ({ readonly do: 'addFinalizer' } & PublishNote)
  | { readonly do: 'publish'; readonly request: PublishRequest; readonly migrated: boolean }
  | { readonly do: 'fail'; readonly message: string; readonly waitsFor: Cause | undefined }

/**
 * The steps of an attach in the order in which they go over the wire; none when it is attached already.
 * All that can fail without the driver comes before our finalizer, which blocks the deletion of the attachment.
 */
export function decideAttach(view: AttachmentView): readonly AttachStep[] {
  const { va, volume, forced, settings } = view
  const { finalizer } = settings
  if (va.attached === true && !forced) return []
  const steps: AttachStep[] = []
  if (volume.from === 'pv' && volume.pv !== undefined) {
    if (volume.pv.deleting)
      return [fail(`PersistentVolume "${volume.name}" is marked for deletion`, retryWhenRecreated(volume))]
    if (!volume.pv.finalizers?.includes(finalizer)) steps.push({ do: 'addVolumeFinalizer', name: volume.name })
  }
  const source = callSource(volume)
  if (!source.ok) return [...steps, fail(source.message, retryWhenRecreated(volume))]
  const { csi, migrated } = source
  const capability = capabilityOf(view, source)
  if (!capability.ok) return [...steps, fail(capability.message, retryWhenRecreated(volume))]
  const secret = secretOf(csi.controllerPublishSecretRef)
  if (secret !== undefined) steps.push({ do: 'loadSecret', ref: secret })
  if (view.node.known !== 'id') return [...steps, nodeFailure(view)]
  const { nodeId } = view.node
  const note: PublishNote = { nodeId, finalizer, ...rememberedNote(view, csi.volumeHandle) }
  if (addFinalizerPatch(va, note) !== undefined) steps.push({ do: 'addFinalizer', ...note })
  const request: PublishRequest = {
    volumeId: csi.volumeHandle,
    nodeId,
    volumeCapability: capability.value,
    readonly: csi.readOnly === true && view.capabilities.publishReadonly,
    volumeContext: csi.volumeAttributes ?? {},
  }
  return [...steps, { do: 'publish', request, migrated }]
}

function rememberedNote({ volume, settings }: AttachmentView, handle: string): Pick<PublishNote, 'remember'> {
  if (!settings.recoverLostVolumes || volume.from !== 'pv' || volume.pv === undefined) return {}
  return { remember: { handle, uid: volume.pv.uid } }
}

export function fail(message: string, waitsFor: Cause | undefined): AttachStep & { do: 'fail' } {
  return { do: 'fail', message, waitsFor }
}

/** A volume that is missing, or wrong, is waited for until one is made under its name, or its access modes change. */
export function retryWhenRecreated(volume: VolumeView): Cause | undefined {
  return volume.from === 'pv' ? { on: 'volume', name: volume.name } : undefined
}

/** The node's id is unknown: its CSINode is missing, or the driver does not run there. */
export function nodeFailure({ va, node, settings }: AttachmentView): AttachStep & { do: 'fail' } {
  const message =
    node.known === 'noDriver'
      ? `CSINode ${va.nodeName} does not contain driver ${settings.driverName}`
      : `csinode.storage.k8s.io "${va.nodeName}" not found`
  return fail(message, { on: 'node', name: va.nodeName })
}

type SecretReference = NonNullable<PersistentVolumeSpec['csi']>['controllerPublishSecretRef']

export function secretOf(ref: SecretReference | undefined): SecretRef | undefined {
  return ref == null ? undefined : { name: ref.name ?? '', namespace: ref.namespace ?? '' }
}

type Capability =
  | { readonly ok: true; readonly value: VolumeCapability }
  | { readonly ok: false; readonly message: string }

function capabilityOf(
  { capabilities, settings }: AttachmentView,
  { spec, csi }: Pick<CallSource & { ok: true }, 'spec' | 'csi'>,
): Capability {
  const fsType = csi.fsType || settings.defaultFsType
  try {
    return { ok: true, value: volumeCapabilityOf({ ...spec, fsType }, capabilities.singleNodeMultiWriter) }
  } catch (error) {
    return { ok: false, message: messageOf(error) }
  }
}

import { type Cached, Interner } from '@csi-sidecars/informer'
import type { PersistentVolumeSpec, VolumeAttachment, VolumeError } from '@csi-sidecars/kube-types'
import { seconds, text, textMap, texts } from './fields.ts'
import { callSpec } from './volume.ts'

/** On VolumeAttachments: the node's id as it was published, for a detach after the node has gone. */
export const NODE_ID_ANNOTATION = 'csi.alpha.kubernetes.io/node-id'
/** On VolumeAttachments with --recover-lost-volumes: what a detach needs once the PersistentVolume is gone. */
export const HANDLE_ANNOTATION = 'csi-sidecars/volume-handle'
export const VOLUME_UID_ANNOTATION = 'csi-sidecars/volume-uid'

/** The index of attachments, of whatever attacher, by the volume they name. */
export const BY_VOLUME = 'volume'

/**
 * What is kept of a VolumeAttachment. Of another attacher's only the volume's name, which keeps that volume's finalizer.
 * Flat, with the same fields in the same order in every object: tens of thousands are held.
 */
export interface Attachment extends Cached {
  readonly ours: boolean
  readonly pvName: string | undefined
  readonly inlineSpec: PersistentVolumeSpec | undefined
  readonly nodeName: string
  readonly deleting: boolean
  /** When it was deleted, else when it was made; in seconds since 1970, a number that V8 keeps in place. */
  readonly dueSeconds: number | undefined
  readonly finalizers: readonly string[] | undefined
  /** Whether it has any annotations. */
  readonly annotated: boolean
  /** The node id annotation. */
  readonly nodeId: string | undefined
  /** The volume that was published for it, with --recover-lost-volumes. */
  readonly remembered: RememberedVolume | undefined
  readonly attached: boolean | undefined
  readonly metadata: Readonly<Record<string, string>> | undefined
  readonly attachError: VolumeError | undefined
  readonly detachError: VolumeError | undefined
  /** Labels and all else that others may change without the above changing; empty when there is nothing. */
  readonly rest: string
}

/** A volume as the driver knows it, and the PersistentVolume that said so. */
export interface RememberedVolume {
  readonly handle: string
  readonly uid: string
}

/** With `remember` the volume that the attachment remembers is kept. */
export function attachmentProjection(
  attacher: string,
  remember = false,
): (va: VolumeAttachment, intern?: Interner) => Attachment {
  return (va, intern = new Interner()) => {
    const ours = va.spec?.attacher === attacher
    const { metadata, status } = va
    const inline = ours ? va.spec.source?.inlineVolumeSpec : undefined
    return {
      key: metadata?.name ?? '',
      resourceVersion: metadata?.resourceVersion ?? '',
      uid: metadata?.uid ?? '',
      ours,
      pvName: text(va.spec?.source?.persistentVolumeName),
      inlineSpec: inline != null ? callSpec(inline, intern) : undefined,
      nodeName: ours ? intern.text(text(va.spec.nodeName) ?? '') : '',
      deleting: metadata?.deletionTimestamp != null,
      dueSeconds: ours ? seconds(metadata?.deletionTimestamp ?? metadata?.creationTimestamp) : undefined,
      finalizers: ours ? intern.list(texts(metadata?.finalizers)) : undefined,
      annotated: ours && Object.keys(metadata?.annotations ?? {}).length > 0,
      nodeId: ours ? intern.text(text(metadata?.annotations?.[NODE_ID_ANNOTATION])) : undefined,
      remembered: ours && remember ? rememberedOf(metadata?.annotations) : undefined,
      attached: ours ? status?.attached : undefined,
      metadata: ours ? intern.map(textMap(status?.attachmentMetadata)) : undefined,
      attachError: ours ? (status?.attachError ?? undefined) : undefined,
      detachError: ours ? (status?.detachError ?? undefined) : undefined,
      rest: ours ? restOf(va) : '',
    }
  }
}

function rememberedOf(annotations: Readonly<Record<string, string>> = {}): RememberedVolume | undefined {
  const handle = text(annotations[HANDLE_ANNOTATION])
  const uid = text(annotations[VOLUME_UID_ANNOTATION])
  return handle === undefined || uid === undefined ? undefined : { handle, uid }
}

function restOf({ metadata }: VolumeAttachment): string {
  const {
    [NODE_ID_ANNOTATION]: _,
    [HANDLE_ANNOTATION]: __,
    [VOLUME_UID_ANNOTATION]: ___,
    ...annotations
  } = metadata?.annotations ?? {}
  const labels = metadata?.labels ?? {}
  const given = metadata?.ownerReferences
  const owners = Array.isArray(given) ? given : []
  if (Object.keys(annotations).length + Object.keys(labels).length + owners.length === 0) return ''
  return JSON.stringify([sorted(labels), sorted(annotations), owners.map((owner) => sorted({ ...owner }))])
}

/** In whatever order, and whatever form, the object has come. */
function sorted(map: Readonly<Record<string, unknown>>): [string, unknown][] {
  return Object.entries(map)
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
}

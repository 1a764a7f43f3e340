import { type Cached, Interner } from '@csi-sidecars/informer'
import type { PersistentVolumeSpec, VolumeAttachment, VolumeError } from '@csi-sidecars/kube-types'
import { asSeconds, asText, asTextMap, asTexts } from './fields.ts'
import { callSpec } from './volume.ts'

/** The annotation of a VolumeAttachment with the ID of the node that the volume was published to. */
export const NODE_ID_ANNOTATION = 'csi.alpha.kubernetes.io/node-id'
/** Annotations that `--recover-lost-volumes` adds, so that a detach works after the PersistentVolume is gone. */
export const HANDLE_ANNOTATION = 'csi-sidecars/volume-handle'
export const VOLUME_UID_ANNOTATION = 'csi-sidecars/volume-uid'

/** The name of the index that finds VolumeAttachments, also of other attachers, by their PersistentVolume. */
export const BY_VOLUME = 'volume'

/**
 * The cached fields of a VolumeAttachment. For an attachment of another attacher, only the volume name is cached.
 * The object is flat and its fields have a fixed order to save memory, because tens of thousands are cached.
 */
export interface CachedAttachment extends Cached {
  readonly ours: boolean
  readonly pvName: string | undefined
  readonly inlineSpec: PersistentVolumeSpec | undefined
  readonly nodeName: string
  readonly deleting: boolean
  /**
   * The deletion time in seconds since 1970, or the creation time if the attachment is not being deleted. It is a whole
   * number, because V8 stores small integers without an allocation.
   */
  readonly requestedAtSeconds: number | undefined
  readonly finalizers: readonly string[] | undefined
  /** True if the VolumeAttachment has any annotations. */
  readonly hasAnnotations: boolean
  /** The node ID in the annotation `csi.alpha.kubernetes.io/node-id`. */
  readonly nodeId: string | undefined
  /** The published volume, from the annotations of `--recover-lost-volumes`. */
  readonly remembered: RememberedVolume | undefined
  readonly attached: boolean | undefined
  readonly metadata: Readonly<Record<string, string>> | undefined
  readonly attachError: VolumeError | undefined
  readonly detachError: VolumeError | undefined
  /** All other metadata as one text, to detect changes. Empty if there is none. */
  readonly otherMetadata: string
}

/** The handle of a published volume, and the UID of its PersistentVolume. */
export interface RememberedVolume {
  readonly handle: string
  readonly uid: string
}

/** Returns the function that extracts the cached fields. `remember` adds the fields for `--recover-lost-volumes`. */
export function attachmentProjection(
  attacher: string,
  remember = false,
): (va: VolumeAttachment, intern?: Interner) => CachedAttachment {
  return (va, intern = new Interner()) => {
    const ours = va.spec?.attacher === attacher
    const { metadata, status } = va
    const inline = ours ? va.spec.source?.inlineVolumeSpec : undefined
    return {
      key: metadata?.name ?? '',
      resourceVersion: metadata?.resourceVersion ?? '',
      uid: metadata?.uid ?? '',
      ours,
      pvName: asText(va.spec?.source?.persistentVolumeName),
      inlineSpec: inline != null ? callSpec(inline, intern) : undefined,
      nodeName: ours ? intern.text(asText(va.spec.nodeName) ?? '') : '',
      deleting: metadata?.deletionTimestamp != null,
      requestedAtSeconds: ours ? asSeconds(metadata?.deletionTimestamp ?? metadata?.creationTimestamp) : undefined,
      finalizers: ours ? intern.list(asTexts(metadata?.finalizers)) : undefined,
      hasAnnotations: ours && Object.keys(metadata?.annotations ?? {}).length > 0,
      nodeId: ours ? intern.text(asText(metadata?.annotations?.[NODE_ID_ANNOTATION])) : undefined,
      remembered: ours && remember ? rememberedOf(metadata?.annotations) : undefined,
      attached: ours ? status?.attached : undefined,
      metadata: ours ? intern.map(asTextMap(status?.attachmentMetadata)) : undefined,
      attachError: ours ? (status?.attachError ?? undefined) : undefined,
      detachError: ours ? (status?.detachError ?? undefined) : undefined,
      otherMetadata: ours ? otherMetadataOf(va) : '',
    }
  }
}

function rememberedOf(annotations: Readonly<Record<string, string>> = {}): RememberedVolume | undefined {
  const handle = asText(annotations[HANDLE_ANNOTATION])
  const uid = asText(annotations[VOLUME_UID_ANNOTATION])
  return handle === undefined || uid === undefined ? undefined : { handle, uid }
}

function otherMetadataOf({ metadata }: VolumeAttachment): string {
  const {
    [NODE_ID_ANNOTATION]: _,
    [HANDLE_ANNOTATION]: __,
    [VOLUME_UID_ANNOTATION]: ___,
    ...annotations
  } = metadata?.annotations ?? {}
  const labels = metadata?.labels ?? {}
  const references = metadata?.ownerReferences
  const owners = Array.isArray(references) ? references : []
  if (Object.keys(annotations).length + Object.keys(labels).length + owners.length === 0) return ''
  return JSON.stringify([sorted(labels), sorted(annotations), owners.map((owner) => sorted({ ...owner }))])
}

/** Sorts the entries, so that equal maps give equal texts. */
function sorted(map: Readonly<Record<string, unknown>>): [string, unknown][] {
  return Object.entries(map)
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
}

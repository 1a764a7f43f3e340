import { mergePatchOf, type Patch, rfc3339, type VolumeError } from '@csi-sidecars/kube-types'
import type { Attachment, RememberedVolume } from '../caches/attachment.ts'
import { HANDLE_ANNOTATION, NODE_ID_ANNOTATION, VOLUME_UID_ANNOTATION } from '../caches/names.ts'

/** The API server refuses a VolumeError whose message is longer. */
const LONGEST_MESSAGE_BYTES = 1024

/** What is stored before anything is published. */
export interface PublishNote {
  readonly nodeId: string
  readonly finalizer: string
  /** With --recover-lost-volumes. */
  readonly remember?: RememberedVolume | undefined
}

/** Finalizer and node id, stored before anything is published. Undefined when both are there. */
export function addFinalizerPatch(va: Attachment, { nodeId, finalizer, remember }: PublishNote): Patch | undefined {
  const finalizers = va.finalizers ?? []
  const metadata: Record<string, unknown> = {}
  const annotations: Record<string, string> = {}
  if (va.nodeId !== nodeId) annotations[NODE_ID_ANNOTATION] = nodeId
  if (remember !== undefined && !isSame(remember, va.remembered)) {
    annotations[HANDLE_ANNOTATION] = remember.handle
    annotations[VOLUME_UID_ANNOTATION] = remember.uid
  }
  if (Object.keys(annotations).length > 0) metadata['annotations'] = annotations
  if (!finalizers.includes(finalizer)) metadata['finalizers'] = [...finalizers, finalizer]
  return Object.keys(metadata).length === 0 ? undefined : patchOf(va, { metadata })
}

function isSame(volume: RememberedVolume, other: RememberedVolume | undefined): boolean {
  return volume.handle === other?.handle && volume.uid === other.uid
}

/** Removes our finalizer. Foreign finalizers keep their order; an empty list is removed. */
export function removeFinalizerPatch(va: Attachment, finalizer: string): Patch {
  const others = (va.finalizers ?? []).filter((name) => name !== finalizer)
  return patchOf(va, { metadata: { finalizers: others.length > 0 ? others : null } })
}

/** Attached with this publish context, which replaces an older one. An error of the past is cleared. */
export function attachedPatch(va: Attachment, context: Readonly<Record<string, string>>): Patch {
  const empty = Object.keys(context).length === 0
  return statusPatch(va, { attached: true, attachmentMetadata: empty ? undefined : context, attachError: undefined })
}

/** Detached. What went wrong with attaching stays as it is. */
export function detachedPatch(va: Attachment): Patch {
  return statusPatch(va, { attached: false, attachmentMetadata: undefined, detachError: undefined })
}

/** Why attaching failed. The code is a gRPC status, when it was one and the cluster is to know. */
export function attachErrorPatch(
  va: Attachment,
  error: { message: string; code: number | undefined },
  now: number,
): Patch {
  return statusPatch(va, { attachError: { ...volumeError(error.message, now), errorCode: error.code } })
}

/** Why detaching failed; never with a code. */
export function detachErrorPatch(va: Attachment, error: { message: string }, now: number): Patch {
  return statusPatch(va, { detachError: volumeError(error.message, now) })
}

/** Without own finalizer or CSI call: attached, whatever there was before. */
export function triviallyAttachedPatch(va: Attachment): Patch {
  return statusPatch(va, { attached: true, attachmentMetadata: undefined, attachError: undefined })
}

interface StatusChange {
  readonly attached?: boolean
  readonly attachmentMetadata?: Readonly<Record<string, string>> | undefined
  readonly attachError?: VolumeError | undefined
  readonly detachError?: VolumeError | undefined
}

function statusPatch(va: Attachment, change: StatusChange): Patch {
  const { attached, metadata: attachmentMetadata, attachError, detachError } = va
  const before = { attached, attachmentMetadata, attachError, detachError }
  return patchOf(va, mergePatchOf({ status: before }, { status: { ...before, ...change } }))
}

/** For this very object: one that was made again under its name refuses it, so it never gets the other one's result. */
function patchOf({ uid }: Attachment, { metadata, ...change }: { readonly metadata?: object }): Patch {
  return { kind: 'merge', body: { metadata: { uid, ...metadata }, ...change } }
}

function volumeError(message: string, now: number): VolumeError {
  return { message: shortened(message), time: rfc3339(now) }
}

/** At most the allowed bytes, never half a character. */
function shortened(message: string): string {
  const bytes = Buffer.from(message)
  let end = LONGEST_MESSAGE_BYTES
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return bytes.toString('utf8', 0, end)
}

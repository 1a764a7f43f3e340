import {
  mergePatchOf,
  type Patch,
  removeFinalizerPatch as removeFinalizer,
  rfc3339,
  type VolumeError,
} from '@csi-sidecars/kube-types'
import type { CachedAttachment, RememberedVolume } from '../caches/attachment.ts'
import { HANDLE_ANNOTATION, NODE_ID_ANNOTATION, VOLUME_UID_ANNOTATION } from '../caches/attachment.ts'

/** The API server refuses a VolumeError with a longer message. */
const MAX_MESSAGE_BYTES = 1024

const ANNOTATIONS = '/metadata/annotations'
const FINALIZERS = '/metadata/finalizers'

/** The data that is stored on a VolumeAttachment before its volume is published. */
export interface PublishRecord {
  readonly nodeId: string
  readonly finalizer: string
  /** The volume to publish. It is stored with `--recover-lost-volumes`. */
  readonly remember?: RememberedVolume | undefined
}

/**
 * Stores our finalizer and the node ID. Undefined if the attachment has both. The patch tests the known finalizers and
 * annotations, so the API server refuses it if another writer has changed them.
 */
export function addFinalizerPatch(
  va: CachedAttachment,
  { nodeId, finalizer, remember }: PublishRecord,
): Patch | undefined {
  const annotations: Record<string, string> = {}
  if (va.nodeId !== nodeId) annotations[NODE_ID_ANNOTATION] = nodeId
  if (remember !== undefined && !isSameVolume(remember, va.remembered)) {
    annotations[HANDLE_ANNOTATION] = remember.handle
    annotations[VOLUME_UID_ANNOTATION] = remember.uid
  }
  return testedPatch(va, [...annotate(va, annotations), ...addFinalizer(va, finalizer)])
}

function isSameVolume(volume: RememberedVolume, other: RememberedVolume | undefined): boolean {
  return volume.handle === other?.handle && volume.uid === other.uid
}

/** Returns the patch that restores only our finalizer. Undefined if the attachment has it. */
export function restoreFinalizerPatch(va: CachedAttachment, finalizer: string): Patch | undefined {
  return testedPatch(va, addFinalizer(va, finalizer))
}

function annotate(
  { hasAnnotations }: CachedAttachment,
  annotations: Readonly<Record<string, string>>,
): readonly object[] {
  const names = Object.keys(annotations)
  if (names.length === 0) return []
  if (hasAnnotations) {
    return names.map((name) => ({ op: 'add', path: `${ANNOTATIONS}/${escaped(name)}`, value: annotations[name] }))
  }
  return [
    { op: 'test', path: ANNOTATIONS, value: null },
    { op: 'add', path: ANNOTATIONS, value: annotations },
  ]
}

function addFinalizer({ finalizers }: CachedAttachment, name: string): readonly object[] {
  if (finalizers?.includes(name)) return []
  const test = { op: 'test', path: FINALIZERS, value: finalizers ?? null }
  const isEmpty = finalizers === undefined || finalizers.length === 0
  return [
    test,
    isEmpty ? { op: 'add', path: FINALIZERS, value: [name] } : { op: 'add', path: `${FINALIZERS}/-`, value: name },
  ]
}

/** Escapes a key for a JSON pointer. */
function escaped(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1')
}

export function removeFinalizerPatch({ finalizers, uid }: CachedAttachment, finalizer: string): Patch | undefined {
  return removeFinalizer(finalizers, finalizer, uid)
}

/** Marks the attachment as attached. The publish context replaces an older one, and the error is cleared. */
export function attachedPatch(va: CachedAttachment, context: Readonly<Record<string, string>>): Patch | undefined {
  const empty = Object.keys(context).length === 0
  return statusPatch(va, { attached: true, attachmentMetadata: empty ? undefined : context, attachError: undefined })
}

/** Clears the attach error, because the driver lists the volume as published. */
export function confirmedPatch(va: CachedAttachment): Patch | undefined {
  return statusPatch(va, { attachError: undefined })
}

/** Marks the attachment as detached. An attach error stays. */
export function detachedPatch(va: CachedAttachment): Patch | undefined {
  return statusPatch(va, { attached: false, attachmentMetadata: undefined, detachError: undefined })
}

/** Records an attach error. `code` is the gRPC code, if the cluster supports it. */
export function attachErrorPatch(
  va: CachedAttachment,
  error: { message: string; code: number | undefined },
  now: number,
): Patch | undefined {
  return statusPatch(va, { attachError: { ...volumeError(error.message, now), errorCode: error.code } })
}

/** Records a detach error, which never has a code. */
export function detachErrorPatch(va: CachedAttachment, error: { message: string }, now: number): Patch | undefined {
  return statusPatch(va, { detachError: volumeError(error.message, now) })
}

/** Marks the attachment as attached, for a driver that cannot attach volumes. */
export function triviallyAttachedPatch(va: CachedAttachment): Patch | undefined {
  return statusPatch(va, { attached: true, attachmentMetadata: undefined, attachError: undefined })
}

interface StatusChange {
  readonly attached?: boolean
  readonly attachmentMetadata?: Readonly<Record<string, string>> | undefined
  readonly attachError?: VolumeError | undefined
  readonly detachError?: VolumeError | undefined
}

/**
 * Returns a merge patch with the UID, so that the API server refuses it for a recreated attachment. Undefined if it
 * would change nothing.
 */
function statusPatch(va: CachedAttachment, change: StatusChange): Patch | undefined {
  const { uid, attached, metadata: attachmentMetadata, attachError, detachError } = va
  const before = { attached, attachmentMetadata, attachError, detachError }
  const body = mergePatchOf({ status: before }, { status: { ...before, ...change } })
  return Object.keys(body).length === 0 ? undefined : { kind: 'merge', body: { metadata: { uid }, ...body } }
}

/** Returns a JSON patch that tests the UID, so that the API server refuses it for a recreated attachment. */
function testedPatch({ uid }: CachedAttachment, operations: readonly object[]): Patch | undefined {
  if (operations.length === 0) return undefined
  return { kind: 'json', body: [{ op: 'test', path: '/metadata/uid', value: uid }, ...operations] }
}

function volumeError(message: string, now: number): VolumeError {
  return { message: shortened(message), time: rfc3339(now) }
}

/** Shortens a message to the allowed bytes, without splitting a character. */
function shortened(message: string): string {
  const bytes = Buffer.from(message)
  let end = MAX_MESSAGE_BYTES
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return bytes.toString('utf8', 0, end)
}

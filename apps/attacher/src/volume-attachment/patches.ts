import {
  mergePatchOf,
  type Patch,
  removeFinalizerPatch as removeFinalizer,
  rfc3339,
  type VolumeError,
} from '@csi-sidecars/kube-types'
import type { Attachment, RememberedVolume } from '../caches/attachment.ts'
import { HANDLE_ANNOTATION, NODE_ID_ANNOTATION, VOLUME_UID_ANNOTATION } from '../caches/attachment.ts'

/** The API server refuses a VolumeError whose message is longer. */
const LONGEST_MESSAGE_BYTES = 1024

const ANNOTATIONS = '/metadata/annotations'
const FINALIZERS = '/metadata/finalizers'

/** What is stored before anything is published. */
export interface PublishNote {
  readonly nodeId: string
  readonly finalizer: string
  /** With --recover-lost-volumes. */
  readonly remember?: RememberedVolume | undefined
}

/**
 * Finalizer and node id, stored before anything is published. Undefined when both are there. It names what was known of the
 * list and of the map: where another writer has changed them since, the patch is refused instead of undoing that.
 */
export function addFinalizerPatch(va: Attachment, { nodeId, finalizer, remember }: PublishNote): Patch | undefined {
  const annotations: Record<string, string> = {}
  if (va.nodeId !== nodeId) annotations[NODE_ID_ANNOTATION] = nodeId
  if (remember !== undefined && !isSame(remember, va.remembered)) {
    annotations[HANDLE_ANNOTATION] = remember.handle
    annotations[VOLUME_UID_ANNOTATION] = remember.uid
  }
  return testedPatch(va, [...annotate(va, annotations), ...addFinalizer(va, finalizer)])
}

/** The finalizer alone, which another writer has removed. Undefined when it is there. */
export function restoreFinalizerPatch(va: Attachment, finalizer: string): Patch | undefined {
  return testedPatch(va, addFinalizer(va, finalizer))
}

function isSame(volume: RememberedVolume, other: RememberedVolume | undefined): boolean {
  return volume.handle === other?.handle && volume.uid === other.uid
}

function annotate({ annotated }: Attachment, annotations: Readonly<Record<string, string>>): readonly object[] {
  const names = Object.keys(annotations)
  if (names.length === 0) return []
  if (annotated) {
    return names.map((name) => ({ op: 'add', path: `${ANNOTATIONS}/${escaped(name)}`, value: annotations[name] }))
  }
  return [
    { op: 'test', path: ANNOTATIONS, value: null },
    { op: 'add', path: ANNOTATIONS, value: annotations },
  ]
}

function addFinalizer({ finalizers }: Attachment, name: string): readonly object[] {
  if (finalizers?.includes(name)) return []
  const test = { op: 'test', path: FINALIZERS, value: finalizers ?? null }
  const isEmpty = finalizers === undefined || finalizers.length === 0
  return [
    test,
    isEmpty ? { op: 'add', path: FINALIZERS, value: [name] } : { op: 'add', path: `${FINALIZERS}/-`, value: name },
  ]
}

/** A key as a part of a JSON pointer. */
function escaped(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** Removes our finalizer at its index; undefined when it is not listed. */
export function removeFinalizerPatch({ finalizers, uid }: Attachment, finalizer: string): Patch | undefined {
  return removeFinalizer(finalizers, finalizer, uid)
}

/** Attached with this publish context, which replaces an older one. An error of the past is cleared. */
export function attachedPatch(va: Attachment, context: Readonly<Record<string, string>>): Patch | undefined {
  const empty = Object.keys(context).length === 0
  return statusPatch(va, { attached: true, attachmentMetadata: empty ? undefined : context, attachError: undefined })
}

/** The driver lists it as published: an error of the past is cleared. */
export function confirmedPatch(va: Attachment): Patch | undefined {
  return statusPatch(va, { attachError: undefined })
}

/** Detached. What went wrong with attaching stays as it is. */
export function detachedPatch(va: Attachment): Patch | undefined {
  return statusPatch(va, { attached: false, attachmentMetadata: undefined, detachError: undefined })
}

/** Why attaching failed. The code is a gRPC status, when it was one and the cluster is to know. */
export function attachErrorPatch(
  va: Attachment,
  error: { message: string; code: number | undefined },
  now: number,
): Patch | undefined {
  return statusPatch(va, { attachError: { ...volumeError(error.message, now), errorCode: error.code } })
}

/** Why detaching failed; never with a code. */
export function detachErrorPatch(va: Attachment, error: { message: string }, now: number): Patch | undefined {
  return statusPatch(va, { detachError: volumeError(error.message, now) })
}

/** Without own finalizer or CSI call: attached, whatever there was before. */
export function triviallyAttachedPatch(va: Attachment): Patch | undefined {
  return statusPatch(va, { attached: true, attachmentMetadata: undefined, attachError: undefined })
}

interface StatusChange {
  readonly attached?: boolean
  readonly attachmentMetadata?: Readonly<Record<string, string>> | undefined
  readonly attachError?: VolumeError | undefined
  readonly detachError?: VolumeError | undefined
}

/**
 * For this very object: one that was recreated under its name refuses it, so it never gets the other one's result.
 * Undefined when it would change nothing.
 */
function statusPatch(va: Attachment, change: StatusChange): Patch | undefined {
  const { uid, attached, metadata: attachmentMetadata, attachError, detachError } = va
  const before = { attached, attachmentMetadata, attachError, detachError }
  const body = mergePatchOf({ status: before }, { status: { ...before, ...change } })
  return Object.keys(body).length === 0 ? undefined : { kind: 'merge', body: { metadata: { uid }, ...body } }
}

/** For this very object too. */
function testedPatch({ uid }: Attachment, operations: readonly object[]): Patch | undefined {
  if (operations.length === 0) return undefined
  return { kind: 'json', body: [{ op: 'test', path: '/metadata/uid', value: uid }, ...operations] }
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

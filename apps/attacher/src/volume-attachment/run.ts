import type { Clock } from '@csi-sidecars/base'
import type { Cause, Run } from '@csi-sidecars/controller'
import type { ControllerPublishVolumeRequest, ControllerUnpublishVolumeRequest } from '@csi-sidecars/csi-proto'
import type { Informer, Reader } from '@csi-sidecars/informer'
import {
  type RequestOptions as ApiOptions,
  isConflict,
  isInvalid,
  isMissing,
  isNotFound,
  type KubeClient,
  type SubresourceOption,
} from '@csi-sidecars/kube-client'
import { type Patch, SECRETS, VOLUME_ATTACHMENTS, type VolumeAttachment } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import type { Attachment } from '../caches/attachment.ts'
import type { DriverNode } from '../caches/node.ts'
import type { Volume } from '../caches/volume.ts'
import type { Published } from '../published-nodes/diff.ts'
import type { VolumeFinalizers } from '../volume-finalizers.ts'
import { AttachmentGoneError, during } from './failure.ts'
import type { AttachmentMemory } from './memory.ts'
import type { Observe } from './observe.ts'
import type { SecretRef } from './requests.ts'

export interface CallOptions {
  readonly migrated: boolean
  readonly signal: AbortSignal
  /** Names the attachment in the lines about the call. */
  readonly log: Logger
}

/** The two calls of this controller, with the deadline of --timeout. */
export interface PublishClient {
  publish(request: ControllerPublishVolumeRequest, options: CallOptions): Promise<Readonly<Record<string, string>>>
  unpublish(request: ControllerUnpublishVolumeRequest, options: CallOptions): Promise<void>
  /** Whether the driver is away at the moment. */
  readonly lost: boolean
}

export interface AttachmentDeps {
  /** Refuses writes once this process no longer leads. */
  readonly api: KubeClient
  readonly driver: PublishClient
  /** What the driver lists as published, in a listing that is sent from now on. */
  readonly listPublished: (signal: AbortSignal) => Promise<Published>
  readonly attachments: Pick<Informer<Attachment, VolumeAttachment>, 'learn' | 'store'>
  readonly volumes: Pick<Reader<Volume>, 'get'>
  readonly nodes: Pick<Reader<DriverNode>, 'values'>
  readonly finalizers: VolumeFinalizers
  readonly finalizer: string
  readonly memory: AttachmentMemory
  readonly observe: Observe
  /** Whether the key would be taken now in the line in which it was taken. */
  readonly placementUnchanged: (key: string) => boolean
  /** Something has come that keys may be waiting for. */
  readonly wake: (cause: Cause) => void
  /** Puts a key to work. */
  readonly enqueue: (key: string) => void
  /** Gate MutableCSINodeAllocatableCount. */
  readonly recordErrorCode: boolean
  readonly clock: Clock
  readonly log: Logger
}

/** One run over one attachment. `va` is what the run has learned of it; `newest` knows what others have done since. */
export interface AttachmentRun extends Run {
  readonly key: string
  readonly deps: AttachmentDeps
  readonly log: Logger
  va: Attachment
}

type PatchOptions = Pick<ApiOptions & SubresourceOption, 'priority' | 'subresource'>

/** Throws AttachmentGoneError when the attachment for which it is meant is gone. */
export async function patch(run: AttachmentRun, change: Patch, options: PatchOptions = {}): Promise<VolumeAttachment> {
  const { deps, key, signal } = run
  run.enter('writing')
  try {
    const saved = await deps.api.patch(VOLUME_ATTACHMENTS, { name: key }, change, { signal, ...options })
    const known = deps.attachments.learn(saved)
    // Another one may have its name by now.
    if (known?.uid === run.va.uid) run.va = known
    return saved
  } catch (error) {
    if (isMissing(error) && (await isGone(run.va, deps, signal))) throw new AttachmentGoneError(key, { cause: error })
    throw error
  }
}

type Change = (va: Attachment) => Patch | undefined

/** Undefined where nothing had to be written. */
export async function patchStatus(
  run: AttachmentRun,
  change: Change,
  options: Pick<PatchOptions, 'priority'> = {},
): Promise<VolumeAttachment | undefined> {
  const next = change(newest(run))
  return next && (await patch(run, next, { ...options, subresource: 'status' }))
}

/** Tries before an object that keeps changing under our hands is an error. */
const TRIES = 3

/**
 * A patch with tests. Where one of them fails the object is read and the patch made again from what it is now: that other
 * writers have changed it is no failure. Undefined where nothing had to be written.
 */
export async function patchTested(run: AttachmentRun, change: Change): Promise<VolumeAttachment | undefined> {
  for (let left = TRIES; ; left -= 1) {
    const next = change(newest(run))
    if (next === undefined) return undefined
    try {
      return await patch(run, next)
    } catch (error) {
      if (left <= 1 || !(isInvalid(error) || isConflict(error))) throw error
      await readAgain(run)
      // It was made from what is there, so it was refused for another reason.
      if (isInvalid(error) && JSON.stringify(change(newest(run))) === JSON.stringify(next)) throw error
    }
  }
}

async function readAgain(run: AttachmentRun): Promise<void> {
  const { deps, key, signal } = run
  const now = await deps.api.get(VOLUME_ATTACHMENTS, { name: key }, { signal }).catch((error: unknown) => {
    throw isNotFound(error) ? new AttachmentGoneError(key, { cause: error }) : error
  })
  const known = deps.attachments.learn(now)
  if (now.metadata?.uid !== run.va.uid) throw new AttachmentGoneError(key)
  if (known?.uid === run.va.uid) run.va = known
}

/**
 * Requests of a run that has failed before have a low priority: thousands of them, failing for one reason, would use up
 * --kube-api-qps and delay every write of the others.
 */
export function statusWritePriority(
  run: AttachmentRun,
  operation: 'attach' | 'detach',
): Pick<PatchOptions, 'priority'> {
  const { attachError, detachError } = newest(run)
  return (operation === 'attach' ? attachError : detachError) === undefined ? {} : { priority: 'low' }
}

/** What a patch is made from: a foreign finalizer, say, may have gone while a call was under way. */
export function newest({ deps, key, va }: AttachmentRun): Attachment {
  const known = deps.attachments.store.get(key)
  return known?.uid === va.uid ? known : va
}

/**
 * Whether an attachment of which one answer has said so is gone. While the cache holds it the server is asked once more:
 * what follows from its end, a detach among it, cannot be taken back.
 */
export async function isGone(
  { key, uid }: Attachment,
  { attachments, api }: AttachmentDeps,
  signal: AbortSignal,
): Promise<boolean> {
  if (attachments.store.get(key)?.uid !== uid) return true
  try {
    const now = await api.get(VOLUME_ATTACHMENTS, { name: key }, { signal })
    attachments.learn(now)
    return now.metadata?.uid !== uid
  } catch (error) {
    signal.throwIfAborted()
    return isNotFound(error)
  }
}

/** The attachment is no longer responsible for what was published for it and still is. */
export function orphanPublications({ deps, va }: AttachmentRun): void {
  for (const key of deps.memory.published.attachmentGone(va.uid)) deps.enqueue(key)
}

/** The Secret's encoded data: read for each call, never kept, decoded only for the call. */
export async function loadSecret(
  { api }: Pick<AttachmentDeps, 'api'>,
  ref: SecretRef,
  options: Pick<ApiOptions, 'signal' | 'priority'>,
): Promise<Readonly<Record<string, string>>> {
  const secret = await api
    .get(SECRETS, ref, options)
    .catch(during(`failed to load secret "${ref.namespace}/${ref.name}"`))
  return secret.data ?? {}
}

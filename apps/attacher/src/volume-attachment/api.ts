import type { FinalizedObject } from '@csi-sidecars/controller'
import {
  type RequestOptions as ApiOptions,
  isMissing,
  isNotFound,
  type SubresourceOption,
} from '@csi-sidecars/kube-client'
import { type Patch, VOLUME_ATTACHMENTS, type VolumeAttachment } from '@csi-sidecars/kube-types'
import { readSecret, SecretError, type SecretRef } from '@csi-sidecars/sidecar'
import type { CachedAttachment } from '../caches/attachment.ts'
import { AttachmentGoneError, during } from './failure.ts'
import type { AttachmentDeps, AttachmentRun } from './run.ts'

type PatchOptions = Pick<ApiOptions & SubresourceOption, 'priority' | 'subresource'>

/** Sends a patch. Throws AttachmentGoneError if the attachment was deleted or recreated. */
export async function patch(run: AttachmentRun, change: Patch, options: PatchOptions = {}): Promise<VolumeAttachment> {
  const { deps, key, signal } = run
  try {
    const saved = await deps.api.patch(VOLUME_ATTACHMENTS, { name: key }, change, { signal, ...options })
    const cached = deps.attachments.storeOwnWrite(saved)
    // The cache may already hold an attachment that was recreated under the same name.
    if (cached?.uid === run.va.uid) run.va = cached
    return saved
  } catch (error) {
    if (isMissing(error) && (await isGone(run.va, deps, signal))) throw new AttachmentGoneError(key, { cause: error })
    throw error
  }
}

type Change = (va: CachedAttachment) => Patch | undefined

/** Patches the status. Returns undefined if there is nothing to write. */
export async function patchStatus(
  run: AttachmentRun,
  change: Change,
  options: Pick<PatchOptions, 'priority'> = {},
): Promise<VolumeAttachment | undefined> {
  const next = change(newest(run))
  return next && (await patch(run, next, { ...options, subresource: 'status' }))
}

/** The largest number of tries of a patch whose object other writers keep changing. */
const TRIES = 3

/** Returns our finalizer on the attachment. It is written by JSON patches with `test` operations. */
export function finalizerOf(run: AttachmentRun): FinalizedObject<CachedAttachment, Patch, VolumeAttachment> {
  return {
    tries: TRIES,
    hasFinalizer: ({ finalizers }) => finalizers?.includes(run.deps.finalizer) === true,
    latest: () => newest(run),
    send: (change) => patch(run, change),
    refresh: () => readAgain(run),
  }
}

export function isDeleting({ deleting }: CachedAttachment): boolean {
  return deleting
}

async function readAgain(run: AttachmentRun): Promise<void> {
  const { deps, key, signal } = run
  const now = await deps.api.get(VOLUME_ATTACHMENTS, { name: key }, { signal }).catch((error: unknown) => {
    throw isNotFound(error) ? new AttachmentGoneError(key, { cause: error }) : error
  })
  const cached = deps.attachments.storeOwnWrite(now)
  if (now.metadata?.uid !== run.va.uid) throw new AttachmentGoneError(key)
  if (cached?.uid === run.va.uid) run.va = cached
}

/**
 * Returns low priority for the requests of a run that has failed before. Thousands of failing runs would use up
 * `--kube-api-qps` and delay all other writes.
 */
export function statusWritePriority(
  run: AttachmentRun,
  operation: 'attach' | 'detach',
): Pick<PatchOptions, 'priority'> {
  const { attachError, detachError } = newest(run)
  return (operation === 'attach' ? attachError : detachError) === undefined ? {} : { priority: 'low' }
}

/**
 * Returns the newest known state of the attachment, from which patches are built. Other writers may have changed it
 * during a call to the driver.
 */
export function newest({ deps, key, va }: AttachmentRun): CachedAttachment {
  const cached = deps.attachments.store.get(key)
  return cached?.uid === va.uid ? cached : va
}

/** Asks the API server whether a cached attachment is gone, because the following detach cannot be undone. */
export async function isGone(
  { key, uid }: CachedAttachment,
  { attachments, api }: AttachmentDeps,
  signal: AbortSignal,
): Promise<boolean> {
  if (attachments.store.get(key)?.uid !== uid) return true
  try {
    const now = await api.get(VOLUME_ATTACHMENTS, { name: key }, { signal })
    attachments.storeOwnWrite(now)
    return now.metadata?.uid !== uid
  } catch (error) {
    signal.throwIfAborted()
    return isNotFound(error)
  }
}

/** Returns the values of a Secret, encoded in base64. */
export async function loadSecret(
  { api }: Pick<AttachmentDeps, 'api'>,
  ref: SecretRef,
  options: Parameters<typeof readSecret>[2],
): Promise<Readonly<Record<string, string>>> {
  return await readSecret(api, ref, options).catch((error: unknown) => {
    const cause = error instanceof SecretError ? error.cause : error
    return during(`failed to load secret "${ref.namespace}/${ref.name}"`)(cause)
  })
}

import { isAlreadyExists, isNotFound } from '@csi-sidecars/kube-client'
import { PERSISTENT_VOLUMES, PODS, removeFinalizerPatch } from '@csi-sidecars/kube-types'
import { IN_TREE_FINALIZER } from '../caches/annotations.ts'
import type { Volume } from '../caches/volume.ts'
import { type ControllerParts, except, refOf } from '../control.ts'
import { scrubberKey, scrubberOf } from './scrubber.ts'

/** The UIDs of the scrubbers that were created since the start, by the UID of the volume. */
export type Scrubbers = Map<string, string>

type ReclaimParts = ControllerParts & { readonly scrubbers: Scrubbers }

/** Deletes a volume from the API and removes the in-tree finalizer. Other finalizers stay. */
export async function removeVolume(volume: Volume, parts: ControllerParts, signal: AbortSignal): Promise<void> {
  await except(isNotFound, remove(volume, parts, signal))
}

async function remove({ key: name }: Volume, parts: ControllerParts, signal: AbortSignal): Promise<void> {
  const { client, caches } = parts
  const { metadata } = await client.get(PERSISTENT_VOLUMES, { name }, { signal })
  const patch = removeFinalizerPatch(metadata?.finalizers, IN_TREE_FINALIZER)
  if (patch !== undefined) caches.volumes.learn(await client.patch(PERSISTENT_VOLUMES, { name }, patch, { signal }))
  if (metadata?.deletionTimestamp == null) await client.delete(PERSISTENT_VOLUMES, { name }, { signal })
}

/** Creates the scrubber. If a pod of the same name exists, the next run handles it. */
export async function scrub(volume: Volume, parts: ReclaimParts, signal: AbortSignal): Promise<void> {
  const { client, caches, scrubbers } = parts
  const created = await except(isAlreadyExists, client.create(PODS, scrubberOf(volume), { signal }))
  if (created === undefined) return
  scrubbers.set(volume.uid, created.metadata?.uid ?? '')
  caches.pods.learn(created)
}

export async function endScrub(volume: Volume, parts: ReclaimParts, signal: AbortSignal): Promise<void> {
  const { client, scrubbers } = parts
  await except(isNotFound, client.delete(PODS, refOf(scrubberKey(volume)), { signal }))
  scrubbers.delete(volume.uid)
}

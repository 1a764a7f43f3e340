import { type Controller, enqueueOn, type Outcome, objectOf, presentKey, SETTLED } from '@csi-sidecars/controller'
import { isAlreadyExists, isNotFound } from '@csi-sidecars/kube-client'
import { refOf, VOLUME_SNAPSHOT_CLASSES, VOLUME_SNAPSHOT_CONTENTS, VOLUME_SNAPSHOTS } from '@csi-sidecars/kube-types'
import { boundVolume } from '../attach-detach/resolve.ts'
import type { SnapshotCaches } from '../caches/caches.ts'
import type { CachedSnapshot } from '../caches/snapshot.ts'
import { baseController, type ControllerParts, except } from '../control.ts'
import { BEING_DELETED, decideSnapshot, type SnapshotStep, type SnapshotView } from './decide.ts'

const WORKERS = 10

type SnapshotParts = ControllerParts & { readonly snapshotCaches: SnapshotCaches }

/** Creates and deletes the content of each VolumeSnapshot, and copies the state of the content to the VolumeSnapshot. */
export function snapshotControllers(deps: ControllerParts): readonly Controller[] {
  const { snapshotCaches } = deps.caches
  if (snapshotCaches === undefined) return []
  return [
    {
      ...baseController('snapshot', deps),
      workers: WORKERS,
      sources: [
        enqueueOn(snapshotCaches.snapshots, presentKey),
        enqueueOn(snapshotCaches.contents, (event) => [objectOf(event).snapshot]),
      ],
      reconcile: (key, { signal }) => reconcile(key, { ...deps, snapshotCaches }, signal),
    },
  ]
}

async function reconcile(key: string, deps: SnapshotParts, signal: AbortSignal): Promise<Outcome> {
  const snapshot = deps.snapshotCaches.snapshots.store.get(key)
  if (snapshot === undefined) return SETTLED
  const step = decideSnapshot(await observe(snapshot, deps, signal))
  // The event of each write enqueues the key again, so a run performs only one step.
  if (step !== undefined) await except(isNotFound, perform(step, { snapshot, deps, signal }))
  return SETTLED
}

async function observe(snapshot: CachedSnapshot, deps: SnapshotParts, signal: AbortSignal): Promise<SnapshotView> {
  const { client, caches, snapshotCaches } = deps
  const { uid, namespace, className: name } = snapshot
  const content = snapshotCaches.contents.store.get(`snapcontent-${uid}`)
  const claim = caches.claims.store.get(`${namespace}/${snapshot.claim}`)
  const needsClass = content === undefined && name !== ''
  return {
    snapshot,
    content,
    source: claim && boundVolume(claim, caches),
    snapshotClass: needsClass ? await client.get(VOLUME_SNAPSHOT_CLASSES, { name }, { signal }) : undefined,
  }
}

interface SnapshotRun {
  readonly snapshot: CachedSnapshot
  readonly deps: SnapshotParts
  readonly signal: AbortSignal
}

async function perform(step: SnapshotStep, { snapshot, deps, signal }: SnapshotRun): Promise<void> {
  const { client, snapshotCaches } = deps
  switch (step.kind) {
    case 'patch': {
      const options = { signal, subresource: step.status ? 'status' : undefined }
      snapshotCaches.snapshots.storeAnswer(
        await client.patch(VOLUME_SNAPSHOTS, refOf(snapshot.key), step.patch, options),
      )
      return
    }
    case 'createContent': {
      const created = await except(isAlreadyExists, client.create(VOLUME_SNAPSHOT_CONTENTS, step.content, { signal }))
      if (created !== undefined) snapshotCaches.contents.storeAnswer(created)
      return
    }
    case 'deleteContent': {
      const ref = { name: step.name }
      const body = { metadata: { annotations: { [BEING_DELETED]: 'yes' } } }
      await client.patch(VOLUME_SNAPSHOT_CONTENTS, ref, { kind: 'merge', body }, { signal })
      await client.delete(VOLUME_SNAPSHOT_CONTENTS, ref, { signal })
      return
    }
    case 'fail':
      throw new Error(step.message)
  }
}

import {
  addFinalizerPatch,
  type Patch,
  removeFinalizerPatch,
  type VolumeSnapshotClass,
  type VolumeSnapshotContent,
} from '@csi-sidecars/kube-types'
import type { CachedContent, CachedSnapshot, SnapshotState } from '../caches/snapshot.ts'
import type { Volume } from '../caches/volume.ts'

/** The finalizer that keeps a VolumeSnapshot until its VolumeSnapshotContent is gone. */
const SNAPSHOT_FINALIZER = 'snapshot.storage.kubernetes.io/volumesnapshot-bound-protection'
/** The finalizer that keeps a VolumeSnapshotContent until the snapshotter has deleted the snapshot in the storage. */
const CONTENT_FINALIZER = 'snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection'
/** Without this annotation, the snapshotter does not delete the snapshot of a deleted VolumeSnapshotContent. */
export const BEING_DELETED = 'snapshot.storage.kubernetes.io/volumesnapshot-being-deleted'

/** A VolumeSnapshot and all inputs of its next step, at one moment. */
export interface SnapshotView {
  readonly snapshot: CachedSnapshot
  /** The VolumeSnapshotContent that refers to the VolumeSnapshot. */
  readonly content: CachedContent | undefined
  /** The volume to which the source claim is bound. */
  readonly source: Volume | undefined
  /** The class of the VolumeSnapshot. Undefined if it names no class. */
  readonly snapshotClass: VolumeSnapshotClass | undefined
}

export type SnapshotStep =
  | { readonly kind: 'patch'; readonly patch: Patch; readonly status: boolean }
  | { readonly kind: 'createContent'; readonly content: VolumeSnapshotContent }
  | { readonly kind: 'deleteContent'; readonly name: string }
  /** The step is not possible yet, for the reason in `message`. */
  | { readonly kind: 'fail'; readonly message: string }

/** Returns the next step for a VolumeSnapshot whose source is a claim, or undefined if nothing is left to do. */
export function decideSnapshot(view: SnapshotView): SnapshotStep | undefined {
  const { snapshot, content } = view
  const { finalizers, key, claim } = snapshot
  if (snapshot.deleting) return decideDeletion(snapshot, content)
  if (claim === '') return { kind: 'fail', message: `snapshot ${key} has no claim as its source` }
  if (finalizers?.includes(SNAPSHOT_FINALIZER) !== true) {
    return { kind: 'patch', patch: addFinalizerPatch(finalizers, SNAPSHOT_FINALIZER), status: false }
  }
  if (content === undefined) return create(view)
  const isSame = FIELDS.every((field) => snapshot[field] === content[field]) && snapshot.contentName === content.key
  return isSame ? undefined : { kind: 'patch', patch: statusPatch(content), status: true }
}

/** Plans a deletion. With the policy `Delete`, the VolumeSnapshotContent is deleted first; with `Retain` it stays. */
function decideDeletion({ finalizers }: CachedSnapshot, content: CachedContent | undefined): SnapshotStep | undefined {
  if (content?.policy === 'Delete') return content.deleting ? undefined : { kind: 'deleteContent', name: content.key }
  const patch = removeFinalizerPatch(finalizers, SNAPSHOT_FINALIZER)
  return patch && { kind: 'patch', patch, status: false }
}

function create({ snapshot, source, snapshotClass }: SnapshotView): SnapshotStep {
  const { key, claim, className, name, namespace, uid } = snapshot
  if (source?.csi === undefined) return { kind: 'fail', message: `claim ${claim} of snapshot ${key} has no CSI volume` }
  if (snapshotClass === undefined) return { kind: 'fail', message: `snapshot ${key} names no VolumeSnapshotClass` }
  const content: VolumeSnapshotContent = {
    metadata: { name: `snapcontent-${uid}`, finalizers: [CONTENT_FINALIZER] },
    spec: {
      driver: snapshotClass.driver,
      deletionPolicy: snapshotClass.deletionPolicy,
      volumeSnapshotClassName: className,
      source: { volumeHandle: source.csi.volumeHandle },
      sourceVolumeMode: source.volumeMode,
      volumeSnapshotRef: { apiVersion: 'snapshot.storage.k8s.io/v1', kind: 'VolumeSnapshot', name, namespace, uid },
    },
  }
  return { kind: 'createContent', content }
}

const FIELDS = ['readyToUse', 'creationTime', 'restoreSize', 'error'] as const satisfies (keyof SnapshotState)[]

function statusPatch({ key, readyToUse, creationTime, restoreSize, error }: CachedContent): Patch {
  const status = {
    boundVolumeSnapshotContentName: key,
    readyToUse,
    creationTime: creationTime ?? null,
    restoreSize: restoreSize ?? null,
    error: error === undefined ? null : { message: error },
  }
  return { kind: 'merge', body: { status } }
}

import type { SnapshotReason } from '@csi-sidecars/waits'

/** The state of an object that another object refers to. An undefined field of this type means an unknown state. */
type Presence = 'missing' | 'waits' | 'present'

/** A VolumeSnapshot and the objects around it. Unknown facts are undefined and count as no reason to wait. */
export interface SnapshotContext {
  readonly deleting: boolean
  readonly finalizers: readonly string[]
  readonly ready: boolean
  readonly error: string | undefined
  /** The source claim of the snapshot. `waits` means that the claim is not bound. */
  readonly claim: Presence | undefined
  /** The snapshot class. `none`: the snapshot names no class, and the cluster has no default class. */
  readonly class: 'missing' | 'none' | 'present' | undefined
  /** The VolumeSnapshotContent. `none`: it was not created yet. */
  readonly content: 'missing' | 'none' | 'present' | undefined
  /** The names of pending claims that are restored from the snapshot. */
  readonly restoring: readonly string[]
}

/** A VolumeSnapshotContent and the objects around it. */
export interface ContentContext {
  readonly deleting: boolean
  readonly finalizers: readonly string[]
  readonly ready: boolean
  readonly hasHandle: boolean
  readonly error: string | undefined
  /** The last event about a deletion that failed. */
  readonly deleteError: string | undefined
  readonly beingCreated: boolean
  readonly beingDeleted: boolean
  readonly isMember: boolean
  readonly class: 'missing' | 'present' | undefined
  readonly snapshot: 'missing' | 'present' | undefined
}

/** The data source of a claim that has no volume yet. */
export interface SourceContext {
  readonly kind: 'VolumeSnapshot' | 'PersistentVolumeClaim'
  /** The state of the source. `waits` means that the snapshot is not ready, or that the claim is not bound. */
  readonly state: Presence | undefined
}

/** The suffix of the finalizers on snapshots from which claims are being restored. */
const AS_SOURCE = '/volumesnapshot-as-source-protection'
const SNAPSHOT_GROUP_PREFIX = 'snapshot.storage.kubernetes.io/'

/** Returns why a VolumeSnapshot waits. Undefined if it is ready, or if only finalizers of other components keep it. */
export function snapshotWait(context: SnapshotContext): SnapshotReason | undefined {
  const { deleting, finalizers, ready, claim, content, restoring } = context
  if (deleting) {
    if (finalizers.some((name) => name.endsWith(AS_SOURCE)) && restoring.length > 0) return 'SnapshotInUse'
    if (!finalizers.some((name) => name.startsWith(SNAPSHOT_GROUP_PREFIX))) return undefined
    return content === 'present' ? 'ContentDeleting' : 'SnapshotDeleting'
  }
  if (ready) return undefined
  if (content === 'present') return 'ContentNotReady'
  if (content === 'missing') return 'ContentMissing'
  if (claim === 'missing') return 'SourceClaimMissing'
  if (claim === 'waits') return 'SourceClaimNotBound'
  if (context.class === 'missing') return 'SnapshotClassMissing'
  return context.class === 'none' ? 'NoSnapshotClass' : 'ContentNotCreated'
}

/** Returns why a VolumeSnapshotContent waits. Undefined if it is ready, or if only foreign finalizers keep it. */
export function contentWait(context: ContentContext): SnapshotReason | undefined {
  const { deleting, finalizers, beingCreated, beingDeleted, deleteError } = context
  if (deleting && finalizers.some((name) => name.startsWith(SNAPSHOT_GROUP_PREFIX))) {
    if (beingCreated) return 'CreationUncertain'
    if (!beingDeleted) return context.snapshot === 'missing' ? 'SnapshotMissing' : 'SnapshotNotDeleted'
    return deleteError === undefined ? 'SnapshotDeleting' : 'DeleteSnapshotFails'
  }
  if (deleting || context.ready) return undefined
  if (context.class === 'missing') return 'SnapshotClassMissing'
  if (context.error !== undefined) return 'SnapshotFails'
  if (context.hasHandle) return 'SnapshotNotReady'
  return context.isMember ? 'MemberNotReported' : 'SnapshotNotBegun'
}

/** Returns why a claim gets no volume from its data source yet. Undefined if the source is ready or unknown. */
export function sourceWait({ kind, state }: SourceContext): SnapshotReason | undefined {
  const isRestore = kind === 'VolumeSnapshot'
  if (state === 'missing') return isRestore ? 'RestoreSourceMissing' : 'CloneSourceMissing'
  if (state === 'waits') return isRestore ? 'RestoreSourceNotReady' : 'CloneSourceNotBound'
  return undefined
}

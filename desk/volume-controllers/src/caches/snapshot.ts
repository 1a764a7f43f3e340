import type { Cached } from '@csi-sidecars/informer'
import { Quantity, rfc3339, type VolumeSnapshot, type VolumeSnapshotContent } from '@csi-sidecars/kube-types'
import { identityOf } from './metadata.ts'

/** The state of a snapshot, in the format of the status of a VolumeSnapshot. */
export interface SnapshotState {
  readonly readyToUse: boolean
  readonly creationTime: string | undefined
  readonly restoreSize: string | undefined
  readonly error: string | undefined
}

/** The cached fields of a VolumeSnapshot. */
export interface CachedSnapshot extends Cached, SnapshotState {
  readonly namespace: string
  readonly name: string
  readonly deleting: boolean
  readonly finalizers: readonly string[] | undefined
  /** The claim whose volume is the source; empty if the source is an existing VolumeSnapshotContent. */
  readonly claim: string
  readonly className: string
  /** The name of the VolumeSnapshotContent that is bound to the VolumeSnapshot. Empty if there is none. */
  readonly contentName: string
}

/** The cached fields of a VolumeSnapshotContent. */
export interface CachedContent extends Cached, SnapshotState {
  /** The key of the VolumeSnapshot to which the VolumeSnapshotContent belongs. */
  readonly snapshot: string
  readonly deleting: boolean
  readonly policy: string
}

export function snapshotProjection(snapshot: VolumeSnapshot): CachedSnapshot {
  const { metadata, spec, status } = snapshot
  return {
    ...identityOf(snapshot),
    namespace: metadata?.namespace ?? '',
    name: metadata?.name ?? '',
    deleting: metadata?.deletionTimestamp != null,
    finalizers: metadata?.finalizers ?? undefined,
    claim: spec.source.persistentVolumeClaimName ?? '',
    className: spec.volumeSnapshotClassName ?? '',
    contentName: status?.boundVolumeSnapshotContentName ?? '',
    readyToUse: status?.readyToUse === true,
    creationTime: status?.creationTime ?? undefined,
    restoreSize: status?.restoreSize ?? undefined,
    error: status?.error?.message ?? undefined,
  }
}

const NS_PER_MS = 1e6

export function contentProjection(content: VolumeSnapshotContent): CachedContent {
  const { metadata, spec, status } = content
  const { volumeSnapshotRef: ref } = spec
  const { creationTime, restoreSize } = status ?? {}
  return {
    ...identityOf(content),
    snapshot: `${ref.namespace}/${ref.name}`,
    deleting: metadata?.deletionTimestamp != null,
    policy: spec.deletionPolicy,
    readyToUse: status?.readyToUse === true,
    creationTime: creationTime == null ? undefined : rfc3339(Number(creationTime) / NS_PER_MS),
    restoreSize: restoreSize == null ? undefined : Quantity.ofBytes(BigInt(restoreSize)).toString(),
    error: status?.error?.message ?? undefined,
  }
}

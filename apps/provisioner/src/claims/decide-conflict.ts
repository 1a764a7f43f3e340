import type { PersistentVolume } from '@csi-sidecars/kube-types'
import { csiVolumeOf } from '../csi-volume.ts'
import type { CreatedVolume } from './memory.ts'

/**
 * `stored`: the existing object describes the new volume for the same claim. `keepVolume`: the existing object may refer
 * to the new volume. `deleteVolume`: no object needs the new volume.
 */
export type ConflictDecision = 'stored' | 'keepVolume' | 'deleteVolume'

/** Decides about a new volume if another PersistentVolume has the name of its PersistentVolume. */
export function decideConflict(
  existing: PersistentVolume,
  { claimUid, created }: { readonly claimUid: string; readonly created: CreatedVolume },
): ConflictDecision {
  if (isBeingDeletedWithVolume(existing)) return 'deleteVolume'
  const handle = csiVolumeOf(existing)?.spec?.csi?.volumeHandle
  if (handle === created.volumeId) return existing.spec?.claimRef?.uid === claimUid ? 'stored' : 'keepVolume'
  // The in-tree form may name the volume in another way, so the volume of a migrated plugin is kept.
  return handle === undefined || created.migrated ? 'keepVolume' : 'deleteVolume'
}

/** Reports whether the PersistentVolume is being deleted together with its volume. */
function isBeingDeletedWithVolume({ metadata, spec, status }: PersistentVolume): boolean {
  if (metadata?.deletionTimestamp == null) return false
  return status?.phase === 'Released' && spec?.persistentVolumeReclaimPolicy === 'Delete'
}

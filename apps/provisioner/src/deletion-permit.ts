import { invariant } from '@csi-sidecars/base'
import type { PersistentVolume } from '@csi-sidecars/kube-types'
import { VOLUME_FINALIZER } from './caches/names.ts'
import { csiVolumeOf } from './csi-volume.ts'

/** A PersistentVolume that names a volume of the driver. */
export interface NamingVolume {
  readonly name: string
  readonly deleting: boolean
}

/** A PersistentVolume whose volume is to be deleted. All fields but `pv` and `attachedTo` are what the run has decided. */
export interface ReleasedVolume {
  readonly kind: 'released'
  /** The PersistentVolume as it was read last, after everything else that DeleteVolume needs. */
  readonly pv: PersistentVolume
  readonly uid: string
  readonly volumeId: string
  /** A node to which the volume is attached, by a list of this run. */
  readonly attachedTo: string | undefined
  /** True if a CreateVolume call of this process clones the volume. */
  readonly isCloned: boolean
}

/** A volume that this process has created, and that no claim gets. */
export interface UnwantedVolume {
  readonly kind: 'unwanted'
  readonly volumeId: string
  /** The PersistentVolume that names the volume, by a list of this run. */
  readonly owner: NamingVolume | undefined
}

/** The proof that a volume may be deleted, read from the API server by the same run. */
export type VolumeDeletionPermit = ReleasedVolume | UnwantedVolume

/** Returns the handle of the volume that the permit allows to delete. Throws if it allows none. */
export function permittedVolume(permit: VolumeDeletionPermit): string {
  const { volumeId } = permit
  if (permit.kind === 'unwanted') {
    invariant(permit.owner === undefined, `the PersistentVolume ${permit.owner?.name} has the volume ${volumeId}`)
    return volumeId
  }
  const { pv, uid, attachedTo, isCloned } = permit
  const { metadata, spec, status } = pv
  const isReleased = status?.phase === 'Released' && spec?.persistentVolumeReclaimPolicy === 'Delete'
  const hasFinalizer = metadata?.finalizers?.includes(VOLUME_FINALIZER) === true
  // Without our finalizer, a deleted PersistentVolume may have lost its volume, or a user has decided to keep the volume.
  const mayHaveVolume = metadata?.deletionTimestamp == null || hasFinalizer
  const isSame = metadata?.uid === uid && csiVolumeOf(pv)?.spec?.csi?.volumeHandle === volumeId
  const isUnused = attachedTo === undefined && !isCloned
  const isPermitted = isSame && isReleased && mayHaveVolume && isUnused
  invariant(isPermitted, `the PersistentVolume ${metadata?.name} does not permit to delete ${volumeId}`)
  return volumeId
}

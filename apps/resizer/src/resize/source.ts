import { messageOf } from '@csi-sidecars/base'
import { isMigratedCSIDriverByName, TranslationError, translateInTreePVToCSI } from '@csi-sidecars/csi-translation'
import type { PersistentVolume, PersistentVolumeSpec } from '@csi-sidecars/kube-types'
import type { ResizerClaim } from '../caches/claim.ts'
import type { ResizerVolume } from '../caches/volume.ts'

/** The fields of a volume that an expansion needs. */
export interface ExpandSource {
  readonly spec: PersistentVolumeSpec
  readonly csi: NonNullable<PersistentVolumeSpec['csi']>
  /** True if the volume is an in-tree volume that was translated for this call. */
  readonly migrated: boolean
}

/** The error for a volume that cannot be named in a CSI call. Users see the message in an event. */
export class SourceError extends Error {
  override readonly name = 'SourceError'
  readonly code: string

  constructor(code: string, message: string, cause?: unknown) {
    super(message, { cause })
    this.code = code
  }
}

/** Reports whether this driver resizes the volume: as its CSI volume, or because the claim names the driver. */
export function isOurs(claim: ResizerClaim, volume: ResizerVolume, driverName: string): boolean {
  if (claim.resizer === driverName && isMigratedCSIDriverByName(driverName)) return true
  return volume.kind === 'own'
}

/** Returns the CSI source of a volume for an expansion. Throws SourceError. */
export function expandSource(name: string, pv: PersistentVolume, driverName: string): ExpandSource {
  const migrated = pv.spec?.csi == null
  const { spec } = migrated && isMigratedCSIDriverByName(driverName) ? translated(pv) : pv
  if (spec?.csi == null) throw new SourceError('NOT_MIGRATED', `volume ${name} is not migrated to CSI`)
  if (!spec.csi.volumeHandle) throw new SourceError('EMPTY_HANDLE', 'empty volume handle')
  return { spec, csi: spec.csi, migrated }
}

function translated(pv: PersistentVolume): PersistentVolume {
  try {
    return translateInTreePVToCSI(pv)
  } catch (error) {
    if (!(error instanceof TranslationError)) throw error
    throw new SourceError(error.code, `failed to translate persistent volume: ${messageOf(error)}`, error)
  }
}

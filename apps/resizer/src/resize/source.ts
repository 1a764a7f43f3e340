import { messageOf } from '@csi-sidecars/base'
import { isMigratedCSIDriverByName, TranslationError, translateInTreePVToCSI } from '@csi-sidecars/csi-translation'
import type { PersistentVolume, PersistentVolumeSpec } from '@csi-sidecars/kube-types'
import type { ResizerClaim } from '../caches/claim.ts'
import type { ResizerVolume } from '../caches/volume.ts'

/** A volume that cannot be described to the driver. The message is part of an event. */
export class SourceError extends Error {
  override readonly name = 'SourceError'
  readonly code: string

  constructor(code: string, message: string, cause?: unknown) {
    super(message, { cause })
    this.code = code
  }
}

/** The fields of the volume for an expansion. */
export interface ExpandSource {
  readonly spec: PersistentVolumeSpec
  readonly csi: NonNullable<PersistentVolumeSpec['csi']>
  /** Translated from an in-tree volume for this call only. */
  readonly migrated: boolean
}

/** Whether this driver resizes the volume: a migrated driver whatever its claim says is its own, any other its CSI volumes. */
export function isOurs(claim: ResizerClaim, volume: ResizerVolume, driverName: string): boolean {
  if (claim.resizer === driverName && isMigratedCSIDriverByName(driverName)) return true
  return volume.kind === 'own'
}

/** The volume as the driver knows it. The handle is taken as it is: only attaching needs to repair one. */
export function expandSource(name: string, pv: PersistentVolume, driverName: string): ExpandSource {
  const source = sourceOf(name, pv, driverName)
  if (!source.csi.volumeHandle) throw new SourceError('EMPTY_HANDLE', 'empty volume handle')
  return source
}

function sourceOf(name: string, pv: PersistentVolume, driverName: string): ExpandSource {
  if (pv.spec?.csi != null) return { spec: pv.spec, csi: pv.spec.csi, migrated: false }
  if (!isMigratedCSIDriverByName(driverName)) {
    throw new SourceError('NOT_MIGRATED', `volume ${name} is not migrated to CSI`)
  }
  const spec = translated(pv).spec
  if (spec?.csi == null) throw new SourceError('NOT_MIGRATED', `volume ${name} is not migrated to CSI`)
  return { spec, csi: spec.csi, migrated: true }
}

function translated(pv: PersistentVolume): PersistentVolume {
  try {
    return translateInTreePVToCSI(pv)
  } catch (error) {
    if (!(error instanceof TranslationError)) throw error
    throw new SourceError(error.code, `failed to translate persistent volume: ${messageOf(error)}`, error)
  }
}

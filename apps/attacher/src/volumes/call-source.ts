import { messageOf, unreachable } from '@csi-sidecars/base'
import type { ControllerPublishVolumeRequest, ControllerUnpublishVolumeRequest } from '@csi-sidecars/csi-proto'
import {
  repairVolumeHandle,
  TranslationError,
  type TranslationErrorCode,
  translateInTreePVToCSI,
} from '@csi-sidecars/csi-translation'
import type { PersistentVolume, PersistentVolumeSpec } from '@csi-sidecars/kube-types'
import { callSpec } from '../caches/volume.ts'
import type { VolumeView } from './volume-view.ts'

/** A call without its secrets: they are read for each call, and kept nowhere. */
export type PublishRequest = Omit<ControllerPublishVolumeRequest, 'secrets'>
export type UnpublishRequest = Omit<ControllerUnpublishVolumeRequest, 'secrets'>

export interface SecretRef {
  readonly name: string
  readonly namespace: string
}

type CsiSource = NonNullable<PersistentVolumeSpec['csi']>

/** What is wrong with a source, for programs; docs and tables name failures by these words. */
export type SourceErrorCode =
  | TranslationErrorCode
  | 'VA_SOURCE_AMBIGUOUS'
  | 'VA_SOURCE_MISSING'
  | 'VA_INLINE_NOT_CSI'
  | 'PV_NOT_CSI'

/** Why there is nothing that could be named to the driver. */
export interface SourceFailure {
  readonly ok: false
  /** Undefined for a volume so broken that its translation does not know what to say. */
  readonly code: SourceErrorCode | undefined
  /** What users see. */
  readonly message: string
}

/** The spec that a call is made of, or why there is none. */
export type CallSource =
  | { readonly ok: true; readonly spec: PersistentVolumeSpec; readonly csi: CsiSource; readonly migrated: boolean }
  | SourceFailure

/** The CSI description of an attachment's volume; in-tree volumes are translated. Never touches what it is given. */
export function callSource(volume: VolumeView): CallSource {
  switch (volume.from) {
    case 'both':
      return no('VA_SOURCE_AMBIGUOUS', 'both InlineCSIVolumeSource and PersistentVolumeName specified in VA source')
    case 'nowhere':
      return no('VA_SOURCE_MISSING', 'neither InlineCSIVolumeSource nor PersistentVolumeName specified in VA source')
    case 'inline':
      if (volume.spec.csi == null) return no('VA_INLINE_NOT_CSI', 'inline volume spec contains nil CSI source')
      return { ok: true, spec: volume.spec, csi: volume.spec.csi, migrated: false }
    case 'pv':
      return pvSource(volume)
    default:
      return unreachable(volume)
  }
}

function pvSource({ name, pv }: VolumeView & { from: 'pv' }): CallSource {
  if (pv === undefined) return no('NIL_OBJECT', `persistentvolume "${name}" not found`)
  if (pv.inTree !== undefined) return translated(pv.inTree)
  return pvSpec(pv.spec, false)
}

function translated(inTree: PersistentVolume): CallSource {
  try {
    return pvSpec(callSpec(translateInTreePVToCSI(inTree).spec), true)
  } catch (error) {
    const code = error instanceof TranslationError ? error.code : undefined
    return no(code, `failed to translate in tree pv to CSI: ${messageOf(error)}`)
  }
}

function pvSpec(spec: PersistentVolumeSpec | undefined, migrated: boolean): CallSource {
  if (spec?.csi == null) return no('PV_NOT_CSI', 'pv spec contained non-csi source that was not migrated')
  return { ok: true, spec, csi: spec.csi, migrated }
}

export type ListedHandle = { readonly ok: true; readonly volumeHandle: string } | SourceFailure

/** The handle under which the driver lists the volume: a translated one can lack a part that only the node's id shows. */
export function listedHandle(volume: VolumeView, nodeId: string): ListedHandle {
  const source = callSource(volume)
  if (!source.ok) return source
  const { driver, volumeHandle } = source.csi
  // Inline volumes come translated and look like volumes that always were CSI; all of them are repaired.
  if (!source.migrated && volume.from !== 'inline') return { ok: true, volumeHandle }
  try {
    return { ok: true, volumeHandle: repairVolumeHandle(driver, volumeHandle, nodeId) }
  } catch (error) {
    return { ok: false, code: error instanceof TranslationError ? error.code : undefined, message: messageOf(error) }
  }
}

function no(code: SourceErrorCode | undefined, message: string): SourceFailure {
  return { ok: false, code, message }
}

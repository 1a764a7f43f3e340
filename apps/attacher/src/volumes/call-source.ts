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
import type { AttachVolumeView } from './volume-view.ts'

/** The request of a call without its secrets. Secrets are read for each call, and never kept. */
export type PublishRequest = Omit<ControllerPublishVolumeRequest, 'secrets'>
export type UnpublishRequest = Omit<ControllerUnpublishVolumeRequest, 'secrets'>

type CsiSource = NonNullable<PersistentVolumeSpec['csi']>

/** The code of an unusable volume source. Documents and tests refer to the codes, users see only the messages. */
export type SourceErrorCode =
  | TranslationErrorCode
  | 'VA_SOURCE_AMBIGUOUS'
  | 'VA_SOURCE_MISSING'
  | 'VA_INLINE_NOT_CSI'
  | 'PV_NOT_CSI'

/** The reason why an attachment has no usable volume. */
export interface PublishSourceFailure {
  readonly ok: false
  /** The code of the failure. Undefined if the translation throws an unexpected error. */
  readonly code: SourceErrorCode | undefined
  readonly message: string
}

/** The spec that the driver is called with. */
export interface UsableSource {
  readonly ok: true
  readonly spec: PersistentVolumeSpec
  readonly csi: CsiSource
  readonly migrated: boolean
}

export type PublishSource = UsableSource | PublishSourceFailure

export type ListedHandle = { readonly ok: true; readonly volumeHandle: string } | PublishSourceFailure

/** Returns the CSI source of an attachment's volume. In-tree volumes are translated. The input is never changed. */
export function callSource(volume: AttachVolumeView): PublishSource {
  switch (volume.kind) {
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

function pvSource({ name, pv }: AttachVolumeView & { kind: 'pv' }): PublishSource {
  if (pv === undefined) return no('NIL_OBJECT', `persistentvolume "${name}" not found`)
  if (pv.inTree !== undefined) return translated(pv.inTree)
  return pvSpec(pv.spec, false)
}

function translated(inTree: PersistentVolume): PublishSource {
  try {
    return pvSpec(callSpec(translateInTreePVToCSI(inTree).spec), true)
  } catch (error) {
    const code = error instanceof TranslationError ? error.code : undefined
    return no(code, `failed to translate in tree pv to CSI: ${messageOf(error)}`)
  }
}

function pvSpec(spec: PersistentVolumeSpec | undefined, migrated: boolean): PublishSource {
  if (spec?.csi == null) return no('PV_NOT_CSI', 'pv spec contained non-csi source that was not migrated')
  return { ok: true, spec, csi: spec.csi, migrated }
}

/** Returns the handle that the driver lists. A translated handle may lack a part that only the node ID contains. */
export function listedHandle(volume: AttachVolumeView, nodeId: string): ListedHandle {
  const source = callSource(volume)
  if (!source.ok) return source
  const { driver, volumeHandle } = source.csi
  // An inline volume may be a translated in-tree volume and is not marked as one, so its handle is always completed.
  if (!source.migrated && volume.kind !== 'inline') return { ok: true, volumeHandle }
  try {
    return { ok: true, volumeHandle: repairVolumeHandle(driver, volumeHandle, nodeId) }
  } catch (error) {
    return { ok: false, code: error instanceof TranslationError ? error.code : undefined, message: messageOf(error) }
  }
}

function no(code: SourceErrorCode | undefined, message: string): PublishSourceFailure {
  return { ok: false, code, message }
}

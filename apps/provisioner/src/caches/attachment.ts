import { type Cached, Interner } from '@csi-sidecars/informer'
import type { VolumeAttachment } from '@csi-sidecars/kube-types'

/** The cached part of a VolumeAttachment. */
export interface Attachment extends Cached {
  readonly volume: string
  readonly node: string
}

/** Keeps no attachment of an inline volume. */
export function projectAttachment(va: VolumeAttachment, intern = new Interner()): Attachment | undefined {
  const volume = va.spec.source.persistentVolumeName
  if (volume == null) return undefined
  const { name = '', resourceVersion = '', uid = '' } = va.metadata ?? {}
  return { key: name, resourceVersion, uid, volume, node: intern.text(va.spec.nodeName) }
}

import { type Cached, Interner } from '@csi-sidecars/informer'
import type { VolumeAttributesClass } from '@csi-sidecars/kube-types'

/**
 * The cached fields of a VolumeAttributesClass. Classes of other drivers are cached too, because a claim may name any
 * class.
 */
export interface AttributesClass extends Cached {
  /** The driver that the class is for. */
  readonly driverName: string
  readonly parameters: Readonly<Record<string, string>>
}

export function projectClass(
  { metadata, driverName, parameters }: VolumeAttributesClass,
  intern = new Interner(),
): AttributesClass {
  return {
    key: metadata?.name ?? '',
    resourceVersion: metadata?.resourceVersion ?? '',
    uid: metadata?.uid ?? '',
    driverName: intern.text(driverName ?? ''),
    parameters: parameters ?? {},
  }
}

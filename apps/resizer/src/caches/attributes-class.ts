import type { Cached } from '@csi-sidecars/informer'
import type { VolumeAttributesClass } from '@csi-sidecars/kube-types'
import { asItIs } from './claim.ts'

/** What is kept of a VolumeAttributesClass. Those of other drivers too: no rule stops a claim from naming one. */
export interface AttributesClass extends Cached {
  /** The driver that the class is for. */
  readonly driverName: string
  readonly parameters: Readonly<Record<string, string>>
}

/** `intern` is for the texts that many classes share. */
export function projectClass(
  { metadata, driverName, parameters }: VolumeAttributesClass,
  intern: (text: string) => string = asItIs,
): AttributesClass {
  return {
    key: metadata?.name ?? '',
    resourceVersion: metadata?.resourceVersion ?? '',
    uid: metadata?.uid ?? '',
    driverName: intern(driverName ?? ''),
    parameters: parameters ?? {},
  }
}

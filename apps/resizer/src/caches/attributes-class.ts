import type { Cached } from '@csi-sidecars/informer'
import type { VolumeAttributesClass } from '@csi-sidecars/kube-types'

/** What is kept of a VolumeAttributesClass. Those of other drivers too: nobody checks that a claim names one of ours. */
export interface AttributesClass extends Cached {
  readonly parameters: Readonly<Record<string, string>>
}

export function projectClass({ metadata, parameters }: VolumeAttributesClass): AttributesClass {
  return {
    key: metadata?.name ?? '',
    resourceVersion: metadata?.resourceVersion ?? '',
    uid: metadata?.uid ?? '',
    parameters: parameters ?? {},
  }
}

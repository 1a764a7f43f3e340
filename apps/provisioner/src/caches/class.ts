import type { Cached } from '@csi-sidecars/informer'
import type { StorageClass, TopologySelectorTerm } from '@csi-sidecars/kube-types'

/** The cached part of a StorageClass. */
export interface Class extends Cached {
  readonly provisioner: string
  readonly parameters: Readonly<Record<string, string>>
  readonly reclaimPolicy: string | undefined
  readonly mountOptions: readonly string[]
  readonly waitsForConsumer: boolean
  readonly allowedTopologies: readonly TopologySelectorTerm[]
}

export function projectClass(storageClass: StorageClass): Class {
  const { metadata = {}, provisioner, parameters, reclaimPolicy, mountOptions, allowedTopologies } = storageClass
  return {
    key: metadata.name ?? '',
    resourceVersion: metadata.resourceVersion ?? '',
    uid: metadata.uid ?? '',
    provisioner,
    parameters: parameters ?? {},
    reclaimPolicy: reclaimPolicy ?? undefined,
    mountOptions: mountOptions ?? [],
    waitsForConsumer: storageClass.volumeBindingMode === 'WaitForFirstConsumer',
    allowedTopologies: allowedTopologies ?? [],
  }
}

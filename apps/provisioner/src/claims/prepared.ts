import type { CreateVolumeRequest, VolumeCapability } from '@csi-sidecars/csi-proto'
import type { ProvisionerClaim } from '../caches/claim.ts'
import type { Class } from '../caches/cluster.ts'
import type { SecretRefs } from '../request/secrets.ts'

/** A CreateVolume request, and the data that turn its response into a PersistentVolume. */
export interface PreparedCreation {
  readonly claim: ProvisionerClaim
  /** The StorageClass as stored, before the translation of an in-tree class. */
  readonly class: Class
  readonly request: CreateVolumeRequest
  readonly fsType: string
  /** The value of the annotation `PARAMETER_VALUES` that the claim must have before the call. */
  readonly valuesAnnotation: string | undefined
  readonly refs: SecretRefs
  readonly capabilities: readonly VolumeCapability[]
  /** True if the class belongs to an in-tree plugin. */
  readonly migrated: boolean
}

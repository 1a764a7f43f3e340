import { messageOf } from '@csi-sidecars/base'
import { isPVMigratable, translateInTreePVToCSI } from '@csi-sidecars/csi-translation'
import type { PersistentVolume } from '@csi-sidecars/kube-types'
import type { SecretRef } from '@csi-sidecars/sidecar'
import { BETA_STORAGE_CLASS, DELETION_SECRET_NAME, DELETION_SECRET_NAMESPACE } from '../caches/names.ts'
import { ProvisionError } from '../request/failure.ts'
import { classForDriver } from '../request/migration.ts'
import { secretRefOf } from '../request/secrets.ts'
import type { VolumeRun } from './run.ts'

/** The content of a DeleteVolume call. The values of its Secret are read from the API server for this call alone. */
export interface DeletionRequest {
  readonly volumeId: string
  readonly secretRef: SecretRef | undefined
  readonly migrated: boolean
}

/** Returns the DeleteVolume request for a released volume. Throws if the volume cannot be deleted by this driver. */
export function deletionOf(run: Pick<VolumeRun, 'deps'>, stored: PersistentVolume): DeletionRequest {
  const migrated = isPVMigratable(stored)
  const pv = migrated ? translateInTreePVToCSI(stored) : stored
  const volumeId = pv.spec?.csi?.volumeHandle
  if (!volumeId) throw new ProvisionError('invalid CSI PV')
  run.deps.driver.require()
  return { volumeId, secretRef: secretOf(run, pv, migrated), migrated }
}

/** Returns the Secret in the volume's annotations. Without annotations, the Secret in its StorageClass. */
function secretOf(
  run: Pick<VolumeRun, 'deps'>,
  { metadata, spec }: PersistentVolume,
  migrated: boolean,
): SecretRef | undefined {
  const { classes } = run.deps
  const { annotations = {} } = metadata ?? {}
  const name = annotations[DELETION_SECRET_NAME]
  const namespace = annotations[DELETION_SECRET_NAMESPACE]
  if (name !== undefined && namespace !== undefined) return name && namespace ? { name, namespace } : undefined
  const className = annotations[BETA_STORAGE_CLASS] ?? spec?.storageClassName ?? ''
  const storageClass = classes.store.get(className)
  const claim = spec?.claimRef
  if (className === '' || storageClass === undefined || claim == null) return undefined
  const volume = metadata?.name ?? ''
  const tokens = { volume, namespace: claim.namespace ?? '', claim: claim.name ?? '', annotations: {} }
  const { parameters } = migrated ? classForDriver(storageClass, run.deps.settings.names) : storageClass
  try {
    return secretRefOf('provisioner', parameters, tokens)
  } catch (cause) {
    throw new ProvisionError(`failed to get secretreference for volume ${volume}: ${messageOf(cause)}`, { cause })
  }
}

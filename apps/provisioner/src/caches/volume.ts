import { isPVMigratable, translateInTreePVToCSI } from '@csi-sidecars/csi-translation'
import { type Cached, Interner } from '@csi-sidecars/informer'
import { type PersistentVolume, Quantity } from '@csi-sidecars/kube-types'
import { isReachable, type LocalNode } from '../node/local-node.ts'
import { type DriverNames, MIGRATED_TO, PROVISIONED_BY, VOLUME_FINALIZER } from './names.ts'

/** The cached part of a PersistentVolume, flat to save memory. A deletion reads the full object from the API server. */
export interface ProvisionerVolume extends Cached {
  /** True if this provisioner is responsible for the volume. */
  readonly ours: boolean
  readonly phase: string | undefined
  readonly reclaimPolicy: string | undefined
  readonly deleting: boolean
  readonly finalizers: readonly string[] | undefined
  /**
   * The labels and annotations of a released volume in one text. A change of them by a user, for example of the deletion
   * secret, is a reason to try a failed deletion again at once. Empty for other volumes, to save memory.
   */
  readonly otherMetadata: string
  readonly claimUid: string | undefined
  /** The handle of a CSI volume of this driver. Undefined for all other volumes. */
  readonly handle: string | undefined
  /** The handle that the driver gives to a volume of the migrated in-tree plugin. Undefined for all other volumes. */
  readonly inTreeHandle: string | undefined
  /** Undefined unless the phase is `Released`. */
  readonly released: ReleasedPhase | undefined
  /** False with `--node-deployment` if only other nodes can reach the volume. */
  readonly isReachable: boolean
}

/** The facts about a Released volume that reports show. */
export interface ReleasedPhase {
  /** When the phase began, in milliseconds since 1970. Undefined before Kubernetes 1.28. */
  readonly since: number | undefined
  readonly sizeBytes: number | undefined
}

export function volumeProjection(
  names: DriverNames,
  node: LocalNode | undefined,
): (pv: PersistentVolume, intern?: Interner) => ProvisionerVolume {
  return (pv, intern = new Interner()) => {
    const { metadata = {}, spec, status } = pv
    const { csi } = spec ?? {}
    return {
      key: metadata.name ?? '',
      resourceVersion: metadata.resourceVersion ?? '',
      uid: metadata.uid ?? '',
      ours: isOurs(pv, names),
      phase: intern.text(status?.phase),
      reclaimPolicy: intern.text(spec?.persistentVolumeReclaimPolicy),
      deleting: metadata.deletionTimestamp != null,
      finalizers: metadata.finalizers?.length ? intern.list(metadata.finalizers) : undefined,
      otherMetadata: status?.phase === 'Released' ? JSON.stringify([metadata.labels, metadata.annotations]) : '',
      claimUid: spec?.claimRef?.uid,
      handle: csi?.driver === names.driver ? csi.volumeHandle : undefined,
      inTreeHandle: csi == null && names.inTree !== undefined ? inTreeHandleOf(pv, names) : undefined,
      released: status?.phase === 'Released' ? releasedOf(pv) : undefined,
      isReachable: node === undefined || isReachable(pv, node),
    }
  }
}

/** Returns the handle of an in-tree volume. Empty if it cannot be translated: no listing shows it then. */
function inTreeHandleOf(pv: PersistentVolume, { driver }: DriverNames): string | undefined {
  if (!isPVMigratable(pv)) return undefined
  try {
    const { csi } = translateInTreePVToCSI(pv).spec ?? {}
    return csi?.driver === driver ? csi.volumeHandle : undefined
  } catch {
    return ''
  }
}

function releasedOf({ spec, status }: PersistentVolume): ReleasedPhase {
  const since = Date.parse(status?.lastPhaseTransitionTime ?? '')
  const size: unknown = spec?.capacity?.['storage']
  const bytes = size == null ? undefined : Quantity.tryParse(String(size))?.bytes()
  return { since: Number.isNaN(since) ? undefined : since, sizeBytes: bytes === undefined ? undefined : Number(bytes) }
}

/** Reports whether the annotations of the volume, or else its CSI driver, name this provisioner. */
function isOurs({ metadata, spec }: PersistentVolume, names: DriverNames): boolean {
  const provisionedBy = metadata?.annotations?.[PROVISIONED_BY]
  const migrated = metadata?.annotations?.[MIGRATED_TO]
  if (provisionedBy !== undefined) return isKnown(provisionedBy, names) || isKnown(migrated, names)
  return isKnown(spec?.csi == null ? migrated : spec.csi.driver, names)
}

/** Reports whether the name belongs to the driver, or to the in-tree plugin that is migrated to the driver. */
export function isKnown(name: string | undefined, { driver, inTree }: DriverNames): boolean {
  return name !== undefined && (name === driver || name === inTree)
}

export function withoutOurFinalizer(volume: ProvisionerVolume): ProvisionerVolume {
  const others = volume.finalizers?.filter((name) => name !== VOLUME_FINALIZER)
  return { ...volume, finalizers: others?.length ? others : undefined }
}

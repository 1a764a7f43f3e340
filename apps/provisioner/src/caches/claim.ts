import { type Cached, Interner } from '@csi-sidecars/informer'
import { namespacedRef, type PersistentVolumeClaim, type PersistentVolumeClaimSpec } from '@csi-sidecars/kube-types'
import {
  ALPHA_SELECTED_NODE,
  BETA_STORAGE_CLASS,
  BETA_STORAGE_PROVISIONER,
  MIGRATED_TO,
  SELECTED_NODE,
  STORAGE_PROVISIONER,
} from './names.ts'

/**
 * The cached part of a PersistentVolumeClaim. All objects have the same flat fields in the same order, which saves
 * memory in clusters with tens of thousands of claims.
 */
export interface ProvisionerClaim extends Cached {
  readonly volumeName: string
  readonly phase: string | undefined
  readonly deleting: boolean
  readonly finalizers: readonly string[] | undefined
  /** The requested size: `spec.resources.requests.storage`. */
  readonly size: string | undefined
  /** The StorageClass in `spec.storageClassName`. */
  readonly classField: string | undefined
  /** The requested volume. Undefined for a bound or lost claim that does not have the finalizer of this process. */
  readonly requestedVolume: RequestedVolume | undefined
}

/** The description of the volume that an unbound claim asks for. */
export interface RequestedVolume {
  readonly annotations: Readonly<Record<string, string>>
  /** The labels in one text. A change of them by a user is a reason to try a failed creation again at once. */
  readonly labels: string
  readonly accessModes: readonly string[]
  readonly volumeMode: string | undefined
  readonly dataSource: DataSource | undefined
  readonly dataSourceRef: DataSource | undefined
  readonly hasSelector: boolean
  readonly attributesClass: string
}

export type DataSource = NonNullable<PersistentVolumeClaimSpec['dataSourceRef']>

/** Caches the requested volume of a bound claim only if the claim has `finalizer`, as CreateVolume may still run. */
export function claimProjection(
  finalizer: string,
): (pvc: PersistentVolumeClaim, intern?: Interner) => ProvisionerClaim {
  return ({ metadata = {}, spec = {}, status }, intern = new Interner()) => {
    const { namespace = '', name = '', resourceVersion = '', uid = '', finalizers } = metadata
    const volumeName = spec.volumeName ?? ''
    const isSettled = volumeName !== '' && (status?.phase === 'Bound' || status?.phase === 'Lost')
    const size: unknown = spec.resources?.requests?.['storage']
    return {
      key: `${namespace}/${name}`,
      resourceVersion,
      uid,
      volumeName,
      phase: intern.text(status?.phase),
      deleting: metadata.deletionTimestamp != null,
      finalizers: finalizers?.length ? intern.list(finalizers) : undefined,
      size: size == null ? undefined : intern.text(String(size)),
      classField: intern.text(spec.storageClassName),
      requestedVolume:
        isSettled && finalizers?.includes(finalizer) !== true ? undefined : requestedVolume(metadata, spec),
    }
  }
}

function requestedVolume(
  { annotations = {}, labels }: NonNullable<PersistentVolumeClaim['metadata']>,
  spec: PersistentVolumeClaimSpec,
): RequestedVolume {
  return {
    annotations,
    labels: labels === undefined ? '' : JSON.stringify(labels),
    accessModes: spec.accessModes ?? [],
    volumeMode: spec.volumeMode ?? undefined,
    dataSource: spec.dataSource ?? undefined,
    dataSourceRef: spec.dataSourceRef ?? undefined,
    hasSelector: spec.selector != null,
    attributesClass: spec.volumeAttributesClassName ?? '',
  }
}

/** Returns the provisioner that the PV controller has written into the claim's annotations. */
export function provisionerOf({ requestedVolume }: ProvisionerClaim): string | undefined {
  return requestedVolume?.annotations[STORAGE_PROVISIONER] ?? requestedVolume?.annotations[BETA_STORAGE_PROVISIONER]
}

export function migratedTo({ requestedVolume }: ProvisionerClaim): string | undefined {
  return requestedVolume?.annotations[MIGRATED_TO]
}

export function classNameOf({ requestedVolume, classField }: ProvisionerClaim): string {
  return requestedVolume?.annotations[BETA_STORAGE_CLASS] ?? classField ?? ''
}

/** Returns the node that the scheduler has written into the claim's annotation. The annotation may be empty. */
export function selectedNode({ requestedVolume }: ProvisionerClaim): string | undefined {
  return requestedVolume?.annotations[SELECTED_NODE]
}

/** Returns the node for which CreateVolume is called, from the current or the alpha annotation. Empty: any node. */
export function creationNodeOf({ requestedVolume }: ProvisionerClaim): string {
  return requestedVolume?.annotations[SELECTED_NODE] ?? requestedVolume?.annotations[ALPHA_SELECTED_NODE] ?? ''
}

/** Returns the claim as if the node were selected in its annotations. */
export function withNode(claim: ProvisionerClaim, node: string): ProvisionerClaim {
  const { requestedVolume } = claim
  return requestedVolume === undefined
    ? claim
    : {
        ...claim,
        requestedVolume: { ...requestedVolume, annotations: { ...requestedVolume.annotations, [SELECTED_NODE]: node } },
      }
}

/** Reports whether the PV controller has not bound the claim yet. A new claim has no phase. */
export function isPending({ phase }: ProvisionerClaim): boolean {
  return phase === undefined || phase === '' || phase === 'Pending'
}

export const SNAPSHOT_KIND = 'VolumeSnapshot'
export const CLAIM_KIND = 'PersistentVolumeClaim'
export const SNAPSHOT_GROUP = 'snapshot.storage.k8s.io'

/** Returns the index keys of a claim: the snapshot or the claim from which the volume of the claim is copied. */
export function sourceIndexKeys(claim: ProvisionerClaim): readonly string[] {
  const { dataSource, dataSourceRef } = claim.requestedVolume ?? {}
  const { namespace } = namespacedRef(claim.key)
  if (dataSource?.kind === CLAIM_KIND) return [cloneKey(`${namespace}/${dataSource.name}`)]
  const source = [dataSource, dataSourceRef].find(
    (each) => each?.kind === SNAPSHOT_KIND && isSnapshotGroup(each.apiGroup),
  )
  if (source === undefined) return []
  const from = source === dataSource ? namespace : source.namespace || namespace
  return [snapshotKey(`${from}/${source.name}`)]
}

const isSnapshotGroup = (group: string | null | undefined): boolean => group == null || group === SNAPSHOT_GROUP

export function cloneKey(claim: string): string {
  return `clone of ${claim}`
}

export function snapshotKey(snapshot: string): string {
  return `restore of ${snapshot}`
}

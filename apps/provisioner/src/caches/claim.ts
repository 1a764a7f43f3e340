import type { EventTarget } from '@csi-sidecars/events'
import { type Cached, Interner } from '@csi-sidecars/informer'
import type { PersistentVolumeClaim, PersistentVolumeClaimSpec } from '@csi-sidecars/kube-types'
import {
  ALPHA_SELECTED_NODE,
  BETA_STORAGE_CLASS,
  BETA_STORAGE_PROVISIONER,
  MIGRATED_TO,
  SELECTED_NODE,
  STORAGE_PROVISIONER,
} from './names.ts'

/**
 * The cached part of a PersistentVolumeClaim. It is flat, with the same fields in the same order: tens of thousands are
 * kept, and most of them are bound.
 */
export interface Claim extends Cached {
  readonly volumeName: string
  readonly phase: string | undefined
  readonly deleting: boolean
  readonly finalizers: readonly string[] | undefined
  /** `spec.resources.requests.storage`. */
  readonly size: string | undefined
  /** `spec.storageClassName`. */
  readonly classField: string | undefined
  /** Undefined once the claim is bound. */
  readonly wanted: WantedVolume | undefined
}

/** The description of the volume that an unbound claim asks for. */
export interface WantedVolume {
  readonly annotations: Readonly<Record<string, string>>
  readonly accessModes: readonly string[]
  readonly volumeMode: string | undefined
  readonly dataSource: DataSource | undefined
  readonly dataSourceRef: DataSource | undefined
  readonly hasSelector: boolean
  readonly attributesClass: string
}

export type DataSource = NonNullable<PersistentVolumeClaimSpec['dataSourceRef']>

/** `finalizer` marks a claim whose volume may be in creation, also if the claim is bound to another volume. */
export function claimProjection(finalizer: string): (pvc: PersistentVolumeClaim, intern?: Interner) => Claim {
  return ({ metadata = {}, spec = {}, status }, intern = new Interner()) => {
    const { namespace = '', name = '', resourceVersion = '', uid = '', finalizers } = metadata
    const volumeName = spec.volumeName ?? ''
    const settled = volumeName !== '' && (status?.phase === 'Bound' || status?.phase === 'Lost')
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
      wanted:
        settled && finalizers?.includes(finalizer) !== true
          ? undefined
          : wantedVolume(metadata.annotations ?? {}, spec),
    }
  }
}

function wantedVolume(annotations: Readonly<Record<string, string>>, spec: PersistentVolumeClaimSpec): WantedVolume {
  return {
    annotations,
    accessModes: spec.accessModes ?? [],
    volumeMode: spec.volumeMode ?? undefined,
    dataSource: spec.dataSource ?? undefined,
    dataSourceRef: spec.dataSourceRef ?? undefined,
    hasSelector: spec.selector != null,
    attributesClass: spec.volumeAttributesClassName ?? '',
  }
}

export function claimRef({ key }: Pick<Claim, 'key'>): { readonly namespace: string; readonly name: string } {
  const slash = key.indexOf('/')
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) }
}

/** The provisioner that the PV controller has written onto the claim. */
export function ownerOf({ wanted }: Claim): string | undefined {
  return wanted?.annotations[STORAGE_PROVISIONER] ?? wanted?.annotations[BETA_STORAGE_PROVISIONER]
}

export function migratedTo({ wanted }: Claim): string | undefined {
  return wanted?.annotations[MIGRATED_TO]
}

export function classNameOf({ wanted, classField }: Claim): string {
  return wanted?.annotations[BETA_STORAGE_CLASS] ?? classField ?? ''
}

/** The node of the annotation, which may be empty. */
export function selectedNode({ wanted }: Claim): string | undefined {
  return wanted?.annotations[SELECTED_NODE]
}

/** The node that the request is made for. */
export function nodeOfRequest({ wanted }: Claim): string {
  return wanted?.annotations[SELECTED_NODE] ?? wanted?.annotations[ALPHA_SELECTED_NODE] ?? ''
}

/** The claim as the subject of an event. */
export function claimTarget(claim: Claim): EventTarget {
  const { uid, resourceVersion } = claim
  return { apiVersion: 'v1', kind: 'PersistentVolumeClaim', ...claimRef(claim), uid, resourceVersion }
}

export const SNAPSHOT_KIND = 'VolumeSnapshot'
export const CLAIM_KIND = 'PersistentVolumeClaim'
export const SNAPSHOT_GROUP = 'snapshot.storage.k8s.io'

/** The values of an index of claims, by the snapshots and claims that they may be created from. */
export function sourceKeys(claim: Claim): readonly string[] {
  const { dataSource, dataSourceRef } = claim.wanted ?? {}
  const { namespace } = claimRef(claim)
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

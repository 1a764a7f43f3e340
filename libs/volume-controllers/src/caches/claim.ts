import type { Cached } from '@csi-sidecars/informer'
import type { PersistentVolumeClaim, PersistentVolumeClaimSpec } from '@csi-sidecars/kube-types'
import { type Annotations, keptAnnotations } from './annotations.ts'
import { identityOf } from './identity.ts'

export type VolumeMode = 'Filesystem' | 'Block'
export type ClaimPhase = 'Pending' | 'Bound' | 'Lost'

/** What is kept of a PersistentVolumeClaim. Sizes are texts, as quantities are written. */
export interface Claim extends Cached {
  readonly namespace: string
  readonly name: string
  readonly deleting: boolean
  /** The uid of the object that it belongs to, as a pod's own claim does to the pod. */
  readonly ownerUid: string | undefined
  /** The name of that object if it is a pod. */
  readonly ownerPod: string | undefined
  readonly finalizers: readonly string[] | undefined
  readonly annotations: Annotations
  /** Undefined: none was asked for, the default is welcome. Empty: no class at all. */
  readonly className: string | undefined
  /** Empty when any volume will do. */
  readonly volumeName: string
  readonly accessModes: readonly string[]
  readonly volumeMode: VolumeMode
  readonly request: string
  readonly selector: PersistentVolumeClaimSpec['selector']
  readonly attributesClass: string
  /** The claim, of the same namespace, whose volume is to be cloned; empty for none. */
  readonly cloneOf: string
  readonly phase: ClaimPhase
  readonly statusModes: readonly string[] | undefined
  readonly capacity: string | undefined
  readonly currentAttributesClass: string | undefined
  /** How far a resize has come, in the API's terms. */
  readonly resizeStatus: string | undefined
  readonly allocated: string | undefined
  /** What the condition Unused says; undefined without it. */
  readonly unused: boolean | undefined
}

/** The condition by which a claim reports since when no pod has used it. */
export const UNUSED = 'Unused'

const OLD_CLASS = 'volume.beta.kubernetes.io/storage-class'

export function claimProjection(pvc: PersistentVolumeClaim): Claim {
  const { metadata, spec, status } = pvc
  const owner = metadata?.ownerReferences?.find(({ controller }) => controller === true)
  return {
    ...identityOf(pvc),
    namespace: metadata?.namespace ?? '',
    name: metadata?.name ?? '',
    deleting: metadata?.deletionTimestamp != null,
    ownerUid: owner?.uid,
    ownerPod: owner?.kind === 'Pod' ? owner.name : undefined,
    finalizers: metadata?.finalizers ?? undefined,
    annotations: keptAnnotations(metadata?.annotations),
    className: metadata?.annotations?.[OLD_CLASS] ?? spec?.storageClassName ?? undefined,
    volumeName: spec?.volumeName ?? '',
    accessModes: spec?.accessModes ?? [],
    volumeMode: volumeModeOf(spec?.volumeMode),
    request: spec?.resources?.requests?.['storage'] ?? '0',
    selector: spec?.selector ?? undefined,
    attributesClass: spec?.volumeAttributesClassName ?? '',
    cloneOf: spec?.dataSource?.kind === 'PersistentVolumeClaim' ? spec.dataSource.name : '',
    phase: phaseOf(status?.phase),
    statusModes: status?.accessModes ?? undefined,
    capacity: status?.capacity?.['storage'],
    currentAttributesClass: status?.currentVolumeAttributesClassName ?? undefined,
    resizeStatus: status?.allocatedResourceStatuses?.['storage'],
    allocated: status?.allocatedResources?.['storage'],
    unused: unusedOf(status?.conditions),
  }
}

function unusedOf(conditions: readonly { type: string; status: string }[] = []): boolean | undefined {
  const condition = conditions.find(({ type }) => type === UNUSED)
  return condition && condition.status === 'True'
}

export function volumeModeOf(text: string | undefined | null): VolumeMode {
  return text === 'Block' ? 'Block' : 'Filesystem'
}

function phaseOf(text: string | undefined): ClaimPhase {
  return text === 'Bound' || text === 'Lost' ? text : 'Pending'
}

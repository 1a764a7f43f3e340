import type { Cached } from '@csi-sidecars/informer'
import type { PersistentVolumeClaim, PersistentVolumeClaimSpec } from '@csi-sidecars/kube-types'
import { type Annotations, identityOf, keptAnnotations } from './metadata.ts'

export type VolumeMode = 'Filesystem' | 'Block'
export type ClaimPhase = 'Pending' | 'Bound' | 'Lost'

/** The cached fields of a PersistentVolumeClaim. Sizes are texts in the format of quantities. */
export interface Claim extends Cached {
  readonly namespace: string
  readonly name: string
  readonly deleting: boolean
  /** The UID of the controlling owner, for example of the pod with an ephemeral volume. */
  readonly ownerUid: string | undefined
  /** The name of the owner, if the owner is a pod. */
  readonly ownerPod: string | undefined
  readonly finalizers: readonly string[] | undefined
  readonly annotations: Annotations
  /** The requested class. Undefined: the claim takes the default class. Empty: the claim wants no class. */
  readonly className: string | undefined
  /** The name of the volume that the claim names. Empty if any suitable volume may be bound. */
  readonly volumeName: string
  readonly accessModes: readonly string[]
  readonly volumeMode: VolumeMode
  readonly request: string
  readonly selector: PersistentVolumeClaimSpec['selector']
  readonly attributesClass: string
  readonly phase: ClaimPhase
  readonly statusModes: readonly string[] | undefined
  readonly capacity: string | undefined
  readonly currentAttributesClass: string | undefined
  /** The state of a resize, in the terms of the API. */
  readonly resizeStatus: string | undefined
  readonly allocated: string | undefined
  /** The status of the condition `Unused`; undefined if the claim has no such condition. */
  readonly unused: boolean | undefined
}

/** The condition that shows whether pods use the claim, and since when. */
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

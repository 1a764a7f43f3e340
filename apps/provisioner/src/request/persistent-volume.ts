import {
  VolumeCapability_AccessMode_Mode as AccessMode,
  type Topology,
  type Volume,
  type VolumeCapability,
} from '@csi-sidecars/csi-proto'
import {
  type NodeSelectorTerm,
  type PersistentVolume,
  type PersistentVolumeSpec,
  Quantity,
} from '@csi-sidecars/kube-types'
import { type Claim, claimRef, classNameOf } from '../caches/claim.ts'
import type { Class } from '../caches/class.ts'
import {
  DELETION_SECRET_NAME,
  DELETION_SECRET_NAMESPACE,
  IDENTITY_ATTRIBUTE,
  MODIFY_SECRET_NAME,
  MODIFY_SECRET_NAMESPACE,
  PROVISIONED_BY,
  VOLUME_FINALIZER,
} from '../caches/names.ts'
import { bytesOf } from './request.ts'
import type { SecretRef, SecretRefs } from './secrets.ts'

export interface VolumeParts {
  readonly claim: Claim
  readonly class: Class
  readonly name: string
  readonly driverName: string
  readonly fsType: string
  readonly refs: SecretRefs
  readonly capabilities: readonly VolumeCapability[]
  /** The answer of the driver. */
  readonly created: Volume
  readonly identity: string
  readonly topology: boolean
  /** The gate VolumeAttributesClass. */
  readonly attributesClasses: boolean
  /** --controller-publish-readonly. */
  readonly publishReadOnly: boolean
}

/** The PersistentVolume for the created volume, reserved for the claim. */
export function persistentVolumeOf(parts: VolumeParts): PersistentVolume {
  const { claim, class: storageClass, name, created } = parts
  const { accessModes = [], volumeMode, attributesClass = '' } = claim.wanted ?? {}
  const { mountOptions, reclaimPolicy, provisioner } = storageClass
  const spec: PersistentVolumeSpec = {
    accessModes: [...accessModes],
    capacity: { storage: Quantity.ofBytes(created.capacityBytes || bytesOf(claim.size)).toString() },
    ...(mountOptions.length > 0 && { mountOptions: [...mountOptions] }),
    ...(reclaimPolicy !== undefined && { persistentVolumeReclaimPolicy: reclaimPolicy }),
    ...(volumeMode !== undefined && { volumeMode }),
    storageClassName: classNameOf(claim),
    claimRef: claimReference(claim),
    csi: csiSource(parts),
    ...(parts.topology && affinityOf(created.accessibleTopology)),
    ...(parts.attributesClasses && attributesClass !== '' && { volumeAttributesClassName: attributesClass }),
  }
  const annotations = { [PROVISIONED_BY]: provisioner, ...secretAnnotations(parts.refs) }
  const metadata = { name, annotations, finalizers: [VOLUME_FINALIZER] }
  return { apiVersion: 'v1', kind: 'PersistentVolume', metadata, spec }
}

function claimReference(claim: Claim): NonNullable<PersistentVolumeSpec['claimRef']> {
  const { uid, resourceVersion } = claim
  return { apiVersion: 'v1', kind: 'PersistentVolumeClaim', ...claimRef(claim), uid, resourceVersion }
}

function csiSource(parts: VolumeParts): NonNullable<PersistentVolumeSpec['csi']> {
  const { claim, driverName, fsType, refs, created, identity } = parts
  return {
    driver: driverName,
    volumeHandle: created.volumeId,
    // The driver's keys win.
    volumeAttributes: { [IDENTITY_ATTRIBUTE]: identity, ...created.volumeContext },
    ...(claim.wanted?.volumeMode !== 'Block' && fsType !== '' && { fsType }),
    ...(isReadOnly(parts) && { readOnly: true }),
    ...secretReference('controllerPublishSecretRef', refs.controllerPublish),
    ...secretReference('nodeStageSecretRef', refs.nodeStage),
    ...secretReference('nodePublishSecretRef', refs.nodePublish),
    ...secretReference('controllerExpandSecretRef', refs.controllerExpand),
    ...secretReference('nodeExpandSecretRef', refs.nodeExpand),
  }
}

function secretReference(field: string, ref: SecretRef | undefined): Record<string, SecretRef> {
  return ref === undefined ? {} : { [field]: ref }
}

function isReadOnly({ publishReadOnly, capabilities }: VolumeParts): boolean {
  const [only, ...others] = capabilities
  return publishReadOnly && others.length === 0 && only?.accessMode?.mode === AccessMode.MULTI_NODE_READER_ONLY
}

function secretAnnotations({ provisioner, controllerModify }: SecretRefs): Record<string, string> {
  return {
    [DELETION_SECRET_NAME]: provisioner?.name ?? '',
    [DELETION_SECRET_NAMESPACE]: provisioner?.namespace ?? '',
    ...(controllerModify && {
      [MODIFY_SECRET_NAME]: controllerModify.name,
      [MODIFY_SECRET_NAMESPACE]: controllerModify.namespace,
    }),
  }
}

type Affinity = Pick<PersistentVolumeSpec, 'nodeAffinity'>

/** The nodes that can reach the volume. Topologies without segments are skipped, because the API refuses empty terms. */
export function affinityOf(topologies: readonly Topology[]): Affinity {
  const nodeSelectorTerms = topologies.map(termOf).filter((term) => term !== undefined)
  return nodeSelectorTerms.length === 0 ? {} : { nodeAffinity: { required: { nodeSelectorTerms } } }
}

function termOf({ segments }: Topology): NodeSelectorTerm | undefined {
  const pairs = Object.entries(segments)
  if (pairs.length === 0) return undefined
  return { matchExpressions: pairs.map(([key, value]) => ({ key, operator: 'In', values: [value] })) }
}

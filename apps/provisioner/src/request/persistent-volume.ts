import {
  VolumeCapability_AccessMode_Mode as AccessMode,
  type CreateVolumeRequest,
  type Topology,
  type Volume,
  type VolumeCapability,
} from '@csi-sidecars/csi-proto'
import {
  type NodeSelectorTerm,
  PERSISTENT_VOLUME_CLAIMS,
  type PersistentVolume,
  type PersistentVolumeSpec,
  Quantity,
  referenceTo,
} from '@csi-sidecars/kube-types'
import type { SecretRef } from '@csi-sidecars/sidecar'
import { classNameOf, type ProvisionerClaim } from '../caches/claim.ts'
import type { Class } from '../caches/cluster.ts'
import {
  DELETION_SECRET_NAME,
  DELETION_SECRET_NAMESPACE,
  type DriverNames,
  IDENTITY_ATTRIBUTE,
  MODIFY_SECRET_NAME,
  MODIFY_SECRET_NAMESPACE,
  PROVISIONED_BY,
  VOLUME_FINALIZER,
} from '../caches/names.ts'
import { bytesOf } from './request.ts'
import type { SecretRefs } from './secrets.ts'

/** The parts of a CreateVolume request that are needed to build the PersistentVolume. */
export interface CreatedVolumeParts {
  readonly claim: ProvisionerClaim
  readonly class: Class
  readonly request: Pick<CreateVolumeRequest, 'name'>
  readonly fsType: string
  readonly refs: SecretRefs
  readonly capabilities: readonly VolumeCapability[]
}

/** The settings that the PersistentVolume depends on. */
export interface VolumeSettings {
  readonly names: DriverNames
  /** The ID of this process, which is written into each volume that it creates. */
  readonly identity: string
  readonly publishReadOnly: boolean
  /** True if the driver supports topology and the feature gate `Topology` is on. */
  readonly topology: boolean
  /** True if the feature gate `VolumeAttributesClass` is on. */
  readonly attributesClasses: boolean
}

/** Builds the PersistentVolume of a created volume, with a `claimRef` that reserves it for the claim. */
export function persistentVolumeOf(
  request: CreatedVolumeParts,
  created: Volume,
  settings: VolumeSettings,
): PersistentVolume {
  const { claim, class: storageClass, refs } = request
  const { accessModes = [], volumeMode, attributesClass = '' } = claim.requestedVolume ?? {}
  const { mountOptions, reclaimPolicy, provisioner } = storageClass
  const spec: PersistentVolumeSpec = {
    accessModes: [...accessModes],
    capacity: { storage: Quantity.ofBytes(created.capacityBytes || bytesOf(claim.size)).toString() },
    ...(mountOptions.length > 0 && { mountOptions: [...mountOptions] }),
    ...(reclaimPolicy !== undefined && { persistentVolumeReclaimPolicy: reclaimPolicy }),
    ...(volumeMode !== undefined && { volumeMode }),
    storageClassName: classNameOf(claim),
    claimRef: referenceTo(PERSISTENT_VOLUME_CLAIMS, claim),
    csi: csiSource(request, created, settings),
    ...(settings.topology && affinityOf(created.accessibleTopology)),
    ...(settings.attributesClasses && attributesClass !== '' && { volumeAttributesClassName: attributesClass }),
  }
  const annotations = { [PROVISIONED_BY]: provisioner, ...secretAnnotations(refs) }
  const metadata = { name: request.request.name, annotations, finalizers: [VOLUME_FINALIZER] }
  return { apiVersion: 'v1', kind: 'PersistentVolume', metadata, spec }
}

function csiSource(
  { claim, fsType, refs, capabilities }: CreatedVolumeParts,
  created: Volume,
  { names, identity, publishReadOnly }: VolumeSettings,
): NonNullable<PersistentVolumeSpec['csi']> {
  return {
    driver: names.driver,
    volumeHandle: created.volumeId,
    // A key in the driver's `volumeContext` overrides the key of the provisioner.
    volumeAttributes: { [IDENTITY_ATTRIBUTE]: identity, ...created.volumeContext },
    ...(claim.requestedVolume?.volumeMode !== 'Block' && fsType !== '' && { fsType }),
    ...(publishReadOnly && isReadOnly(capabilities) && { readOnly: true }),
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

function isReadOnly([only, ...others]: readonly VolumeCapability[]): boolean {
  return others.length === 0 && only?.accessMode?.mode === AccessMode.MULTI_NODE_READER_ONLY
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

/** Returns the nodes that can reach the volume. Skips topologies without segments, as the API refuses empty terms. */
export function affinityOf(topologies: readonly Topology[]): Affinity {
  const nodeSelectorTerms = topologies.map(termOf).filter((term) => term !== undefined)
  return nodeSelectorTerms.length === 0 ? {} : { nodeAffinity: { required: { nodeSelectorTerms } } }
}

function termOf({ segments }: Topology): NodeSelectorTerm | undefined {
  const pairs = Object.entries(segments)
  if (pairs.length === 0) return undefined
  return { matchExpressions: pairs.map(([key, value]) => ({ key, operator: 'In', values: [value] })) }
}

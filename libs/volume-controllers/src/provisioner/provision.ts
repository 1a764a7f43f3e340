import { volumeCapabilityOf } from '@csi-sidecars/csi'
import type {
  CreateVolumeRequest,
  Volume as CsiVolume,
  Topology,
  TopologyRequirement,
  VolumeContentSource,
} from '@csi-sidecars/csi-proto'
import { type PersistentVolume, type PersistentVolumeSpec, Quantity } from '@csi-sidecars/kube-types'
import {
  BETA_STORAGE_PROVISIONER,
  DELETION_SECRET_NAME,
  DELETION_SECRET_NAMESPACE,
  MODIFY_SECRET_NAME,
  MODIFY_SECRET_NAMESPACE,
  PROVISIONED_BY,
  PROVISIONER_FINALIZER,
  SELECTED_NODE,
  STORAGE_PROVISIONER,
} from '../caches/annotations.ts'
import type { Claim } from '../caches/claim.ts'
import type { CachedNode } from '../caches/node.ts'
import type { CachedClass, CachedCsiNode } from '../caches/storage.ts'
import type { ClassParameters } from './parameters.ts'

/** A claim and all inputs of its provisioning. */
export interface ProvisionView {
  readonly claim: Claim
  readonly storageClass: CachedClass | undefined
  readonly driverName: string
  /** True if the PersistentVolume exists. The PersistentVolume controller still has to bind it. */
  readonly isProvisioned: boolean
  /**
   * True if a volume was requested and the driver reported no final error. The volume may exist, so the request is
   * repeated.
   */
  readonly uncertain: boolean
}

export type ProvisionDecision =
  | { readonly do: 'nothing' }
  | { readonly do: 'provision'; readonly storageClass: CachedClass; readonly selectedNode: string | undefined }

/**
 * Decides whether this provisioner acts. The claim must name it, and a claim with delayed binding needs a selected
 * node.
 */
export function decideProvision(view: ProvisionView): ProvisionDecision {
  const { claim, storageClass, driverName, isProvisioned, uncertain } = view
  const asked = claim.annotations[STORAGE_PROVISIONER] ?? claim.annotations[BETA_STORAGE_PROVISIONER]
  if (asked !== driverName || claim.volumeName !== '' || isProvisioned || storageClass?.provisioner !== driverName) {
    return { do: 'nothing' }
  }
  if (claim.deleting && !uncertain) return { do: 'nothing' }
  const selectedNode = claim.annotations[SELECTED_NODE]
  if (storageClass.waitsForConsumer && selectedNode === undefined) return { do: 'nothing' }
  return { do: 'provision', storageClass, selectedNode }
}

/** Returns the name of the volume. It depends only on the claim, so a retry finds the volume of the first try. */
export function volumeNameOf({ uid }: Pick<Claim, 'uid'>): string {
  return `pvc-${uid}`
}

export interface RequestParts {
  readonly claim: Claim
  readonly parameters: ClassParameters
  readonly mountOptions: readonly string[]
  readonly singleNodeMultiWriter: boolean
  readonly topology: TopologyRequirement | undefined
  /** The handle of the volume to clone. */
  readonly source: string | undefined
  /** The parameters of the claim's VolumeAttributesClass. */
  readonly mutableParameters: Readonly<Record<string, string>>
}

export function createVolumeRequest(parts: RequestParts): Omit<CreateVolumeRequest, 'secrets'> {
  const { claim, parameters, mountOptions, singleNodeMultiWriter } = parts
  const use = { volumeMode: claim.volumeMode, fsType: parameters.fsType, mountOptions }
  return {
    name: volumeNameOf(claim),
    capacityRange: { requiredBytes: Quantity.parse(claim.request).bytes(), limitBytes: 0n },
    volumeCapabilities: claim.accessModes.map((mode) =>
      volumeCapabilityOf({ ...use, accessModes: [mode] }, singleNodeMultiWriter),
    ),
    parameters: { ...parameters.plain },
    volumeContentSource: parts.source === undefined ? undefined : contentOf(parts.source),
    accessibilityRequirements: parts.topology,
    mutableParameters: { ...parts.mutableParameters },
  }
}

function contentOf(volumeId: string): VolumeContentSource {
  return { type: { $case: 'volume', value: { volumeId } } }
}

/**
 * Returns the topology from which a volume must be reachable: the selected node, in the topology keys of the driver.
 */
export function topologyFor(
  driverName: string,
  node: CachedNode | undefined,
  csiNode: CachedCsiNode | undefined,
): TopologyRequirement | undefined {
  const keys = csiNode?.drivers.get(driverName)?.topologyKeys ?? []
  if (node === undefined || keys.length === 0) return undefined
  const segments: Record<string, string> = {}
  for (const key of keys) segments[key] = node.labels[key] ?? ''
  return { requisite: [{ segments }], preferred: [{ segments }] }
}

export interface VolumeParts {
  readonly claim: Claim
  readonly storageClass: CachedClass
  readonly parameters: ClassParameters
  readonly driverName: string
  /** The volume that the driver has created. */
  readonly created: CsiVolume
  /** The identity of the provisioner, which the driver receives as a volume attribute. */
  readonly identity: string
}

/** Returns the PersistentVolume for a created volume, with a reference to the claim. */
export function provisionedVolume(parts: VolumeParts): PersistentVolume {
  const { claim, storageClass, parameters, driverName, created } = parts
  const { secrets } = parameters
  const size = created.capacityBytes > 0n ? Quantity.ofBytes(created.capacityBytes).toString() : claim.request
  const spec: PersistentVolumeSpec = {
    accessModes: [...claim.accessModes],
    capacity: { storage: size },
    volumeMode: claim.volumeMode,
    persistentVolumeReclaimPolicy: storageClass.reclaimPolicy,
    storageClassName: storageClass.key,
    ...(storageClass.mountOptions.length > 0 && { mountOptions: [...storageClass.mountOptions] }),
    ...(claim.attributesClass !== '' && { volumeAttributesClassName: claim.attributesClass }),
    claimRef: {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      namespace: claim.namespace,
      name: claim.name,
      uid: claim.uid,
    },
    csi: {
      driver: driverName,
      volumeHandle: created.volumeId,
      volumeAttributes: { ...created.volumeContext, 'storage.kubernetes.io/csiProvisionerIdentity': parts.identity },
      ...(claim.volumeMode === 'Filesystem' && parameters.fsType !== '' && { fsType: parameters.fsType }),
      ...(secrets.publish && { controllerPublishSecretRef: secrets.publish }),
      ...(secrets.stage && { nodeStageSecretRef: secrets.stage }),
      ...(secrets.nodePublish && { nodePublishSecretRef: secrets.nodePublish }),
      ...(secrets.expand && { controllerExpandSecretRef: secrets.expand }),
      ...(secrets.nodeExpand && { nodeExpandSecretRef: secrets.nodeExpand }),
    },
    ...affinityOf(created.accessibleTopology),
  }
  const finalizers = storageClass.reclaimPolicy === 'Delete' ? { finalizers: [PROVISIONER_FINALIZER] } : {}
  const annotations = annotationsOf(driverName, parameters)
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: volumeNameOf(claim), annotations, ...finalizers },
    spec,
  }
}

function annotationsOf(driverName: string, { secrets }: ClassParameters): Record<string, string> {
  const { provision, modify } = secrets
  return {
    [PROVISIONED_BY]: driverName,
    ...(provision && { [DELETION_SECRET_NAME]: provision.name, [DELETION_SECRET_NAMESPACE]: provision.namespace }),
    ...(modify && { [MODIFY_SECRET_NAME]: modify.name, [MODIFY_SECRET_NAMESPACE]: modify.namespace }),
  }
}

/** Returns the node affinity of a volume, by node labels. A volume that is reachable from all nodes has none. */
function affinityOf(topology: readonly Topology[]): Pick<PersistentVolumeSpec, 'nodeAffinity'> {
  if (topology.length === 0) return {}
  const nodeSelectorTerms = topology.map(({ segments }) => ({
    matchExpressions: Object.entries(segments).map(([key, value]) => ({ key, operator: 'In', values: [value] })),
  }))
  return { nodeAffinity: { required: { nodeSelectorTerms } } }
}

type Segments = Record<string, string>

/** Returns all combinations of topology values that a class allows. Undefined if the class does not restrict them. */
export function allowedTopology(terms: CachedClass['allowedTopologies']): TopologyRequirement | undefined {
  const all = (terms ?? []).flatMap(({ matchLabelExpressions }) =>
    (matchLabelExpressions ?? []).reduce<Segments[]>(
      (found, { key, values }) => found.flatMap((one) => (values ?? []).map((value) => ({ ...one, [key]: value }))),
      [{}],
    ),
  )
  const requisite = all.map((segments) => ({ segments }))
  return requisite.length === 0 ? undefined : { requisite, preferred: requisite }
}

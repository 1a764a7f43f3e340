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

/** A claim and what its provisioning depends on. */
export interface ProvisionView {
  readonly claim: Claim
  readonly storageClass: CachedClass | undefined
  readonly driverName: string
  /** Its volume is there; what is missing is the binding, and that is not ours. */
  readonly isProvisioned: boolean
  /** A volume was asked for and the driver never said that it failed: there may be one, so it is asked for again. */
  readonly uncertain: boolean
}

export type ProvisionDecision =
  | { readonly do: 'nothing' }
  | { readonly do: 'provision'; readonly storageClass: CachedClass; readonly selectedNode: string | undefined }

/** Whether it is this provisioner's turn: the claim must ask for it, and a delayed one must know its node. */
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

/** Same claim, same name: a second try finds the volume that the first one has created. */
export function volumeNameOf({ uid }: Pick<Claim, 'uid'>): string {
  return `pvc-${uid}`
}

export interface RequestParts {
  readonly claim: Claim
  readonly parameters: ClassParameters
  readonly mountOptions: readonly string[]
  readonly singleNodeMultiWriter: boolean
  readonly topology: TopologyRequirement | undefined
  /** The volume to be cloned, by its handle. */
  readonly source: string | undefined
  /** Of the claim's VolumeAttributesClass. */
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

/** Where a volume must be reachable: from the chosen node, by the topology that the driver has reported for it. */
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
  /** What the driver has created. */
  readonly created: CsiVolume
  /** The identity of the provisioner, which the driver gets at each use. */
  readonly identity: string
}

/** The PersistentVolume for what the driver has created, reserved for the claim. */
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

/** A volume that is not reachable from everywhere says from where, by node labels. */
function affinityOf(topology: readonly Topology[]): Pick<PersistentVolumeSpec, 'nodeAffinity'> {
  if (topology.length === 0) return {}
  const nodeSelectorTerms = topology.map(({ segments }) => ({
    matchExpressions: Object.entries(segments).map(([key, value]) => ({ key, operator: 'In', values: [value] })),
  }))
  return { nodeAffinity: { required: { nodeSelectorTerms } } }
}

type Segments = Record<string, string>

/** Where a class allows its volumes: each term with each of its values. Undefined: it does not say. */
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

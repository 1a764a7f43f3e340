import { messageOf } from '@csi-sidecars/base'
import { AccessModeError, volumeCapabilityOf } from '@csi-sidecars/csi'
import type {
  CreateVolumeRequest,
  TopologyRequirement,
  VolumeCapability,
  VolumeContentSource,
} from '@csi-sidecars/csi-proto'
import { Quantity } from '@csi-sidecars/kube-types'
import { type Claim, claimRef, type WantedVolume } from '../caches/claim.ts'
import type { Class } from '../caches/class.ts'
import { ProvisionError } from './failure.ts'

/** The size of the claim in bytes. */
export function bytesOf(size: string | undefined): bigint {
  return (Quantity.tryParse(size ?? '0') ?? Quantity.parse('0')).bytes()
}

/** One capability for each access mode, in the order of the claim. */
export function capabilitiesOf(
  { accessModes, volumeMode }: WantedVolume,
  { mountOptions }: Pick<Class, 'mountOptions'>,
  { fsType, singleNodeMultiWriter }: { readonly fsType: string; readonly singleNodeMultiWriter: boolean },
): VolumeCapability[] {
  const use = { volumeMode, fsType, mountOptions }
  try {
    return accessModes.map((mode) => volumeCapabilityOf({ ...use, accessModes: [mode] }, singleNodeMultiWriter))
  } catch (cause) {
    if (cause instanceof AccessModeError) throw new ProvisionError(messageOf(cause), { cause })
    throw cause
  }
}

export interface RequestParts {
  readonly claim: Claim
  readonly name: string
  /** The parameters for the driver. */
  readonly parameters: Readonly<Record<string, string>>
  readonly capabilities: readonly VolumeCapability[]
  readonly source: VolumeContentSource | undefined
  readonly topology: TopologyRequirement | undefined
  readonly secrets: Readonly<Record<string, string>>
  /** --extra-create-metadata. */
  readonly extraMetadata: boolean
  /** The parameters of the VolumeAttributesClass. */
  readonly mutableParameters: Readonly<Record<string, string>>
}

export function createVolumeRequest(parts: RequestParts): CreateVolumeRequest {
  const { claim, name, capabilities, source, topology, secrets, mutableParameters } = parts
  return {
    name,
    capacityRange: { requiredBytes: bytesOf(claim.size), limitBytes: 0n },
    volumeCapabilities: [...capabilities],
    parameters: { ...parts.parameters, ...(parts.extraMetadata && metadataOf(claim, name)) },
    secrets: { ...secrets },
    volumeContentSource: source,
    accessibilityRequirements: topology,
    mutableParameters: { ...mutableParameters },
  }
}

function metadataOf(claim: Claim, volume: string): Record<string, string> {
  const { name, namespace } = claimRef(claim)
  return {
    'csi.storage.k8s.io/pvc/name': name,
    'csi.storage.k8s.io/pvc/namespace': namespace,
    'csi.storage.k8s.io/pv/name': volume,
  }
}

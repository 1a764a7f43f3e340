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
import type { Class } from '../caches/cluster.ts'
import { ProvisionError } from './failure.ts'
import { SECRET_KEYS } from './secrets.ts'

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

export interface NameRule {
  readonly volumeNamePrefix: string
  /** -1: the UID as it is. */
  readonly volumeNameUuidLength: number
}

/** The name of the volume at the driver and of its PersistentVolume. The same claim always has the same name. */
export function volumeNameOf(uid: string, { volumeNamePrefix, volumeNameUuidLength }: NameRule): string {
  if (volumeNamePrefix === '') throw new ProvisionError('volume name prefix cannot be of length 0')
  if (uid === '') throw new ProvisionError('corrupted PVC object, it is missing UID')
  const id = volumeNameUuidLength < 0 ? uid : uid.replaceAll('-', '').slice(0, volumeNameUuidLength)
  return `${volumeNamePrefix}-${id}`
}

type Parameters = Readonly<Record<string, string>>

/** Parameters with this prefix are for the provisioner and never reach the driver. */
export const RESERVED = 'csi.storage.k8s.io/'
export const FS_TYPE = `${RESERVED}fstype`

const KNOWN: ReadonlySet<string> = new Set([FS_TYPE, ...SECRET_KEYS])

export interface FsType {
  readonly fsType: string
  /** The class uses the old name of the parameter. */
  readonly deprecated: boolean
}

/** The file system of the class, else the default one. */
export function fsTypeOf(parameters: Parameters, defaultFsType: string): FsType {
  const found = Object.entries(parameters).filter(([key]) => key === FS_TYPE || isOldFsType(key))
  if (found.length > 1) {
    throw new ProvisionError(`fstype specified in parameters with both "fstype" and "${FS_TYPE}" keys`)
  }
  return { fsType: found[0]?.[1] || defaultFsType, deprecated: found.some(([key]) => isOldFsType(key)) }
}

const isOldFsType = (key: string): boolean => key.toLowerCase() === 'fstype'

/** The parameters for the driver. */
export function driverParameters(parameters: Parameters): Record<string, string> {
  const kept = Object.entries(parameters).filter(([key]) => !key.startsWith(RESERVED))
  const unknown = Object.keys(parameters).find((key) => key.startsWith(RESERVED) && !KNOWN.has(key))
  if (unknown !== undefined) {
    const why = `found unknown parameter key "${unknown}" with reserved namespace ${RESERVED}`
    throw new ProvisionError(`failed to strip CSI Parameters of prefixed keys: ${why}`)
  }
  return Object.fromEntries(kept)
}

import { messageOf } from '@csi-sidecars/base'
import { AccessModeError, volumeCapabilityOf } from '@csi-sidecars/csi'
import type {
  CreateVolumeRequest,
  TopologyRequirement,
  VolumeCapability,
  VolumeContentSource,
} from '@csi-sidecars/csi-proto'
import { namespacedRef, Quantity } from '@csi-sidecars/kube-types'
import type { ProvisionerClaim, RequestedVolume } from '../caches/claim.ts'
import type { Class } from '../caches/cluster.ts'
import { ProvisionError } from './failure.ts'
import { SECRET_KEYS, SECRET_KEYS_BY_OLD } from './secrets.ts'

/** The parts from which CreateVolumeRequest is built. */
export interface RequestParts {
  readonly claim: ProvisionerClaim
  readonly name: string
  /** The parameters of the StorageClass, without the reserved keys. */
  readonly parameters: Readonly<Record<string, string>>
  readonly capabilities: readonly VolumeCapability[]
  readonly source: VolumeContentSource | undefined
  readonly topology: TopologyRequirement | undefined
  readonly secrets: Readonly<Record<string, string>>
  /** The value of `--extra-create-metadata`. */
  readonly extraMetadata: boolean
  /** The parameters of the VolumeAttributesClass. */
  readonly mutableParameters: Readonly<Record<string, string>>
}

/** The flags that decide the name of a volume. */
export interface NameRule {
  readonly volumeNamePrefix: string
  /** How many characters of the claim's UID the name has. -1: the whole UID, with its dashes. */
  readonly volumeNameUuidLength: number
}

/** Returns the size of a claim in bytes. Returns 0 if the size is missing or unreadable. */
export function bytesOf(size: string | undefined): bigint {
  return (Quantity.tryParse(size ?? '0') ?? Quantity.parse('0')).bytes()
}

/** Returns one volume capability for each access mode, in the order of the claim. */
export function capabilitiesOf(
  { accessModes, volumeMode }: RequestedVolume,
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

export function createVolumeRequest(inputs: RequestParts): CreateVolumeRequest {
  const { claim, name, capabilities, source, topology, secrets, mutableParameters } = inputs
  return {
    name,
    capacityRange: { requiredBytes: bytesOf(claim.size), limitBytes: 0n },
    volumeCapabilities: [...capabilities],
    parameters: { ...inputs.parameters, ...(inputs.extraMetadata && metadataOf(claim, name)) },
    secrets: { ...secrets },
    volumeContentSource: source,
    accessibilityRequirements: topology,
    mutableParameters: { ...mutableParameters },
  }
}

function metadataOf(claim: ProvisionerClaim, volume: string): Record<string, string> {
  const { name, namespace } = namespacedRef(claim.key)
  return {
    'csi.storage.k8s.io/pvc/name': name,
    'csi.storage.k8s.io/pvc/namespace': namespace,
    'csi.storage.k8s.io/pv/name': volume,
  }
}

/** Returns the name of the volume and of its PersistentVolume. A claim always gets the same name. */
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

const KNOWN_RESERVED_KEYS: ReadonlySet<string> = new Set([FS_TYPE, ...SECRET_KEYS])

/** Returns the file system that the class names, else the default. Throws ProvisionError if the class names two. */
export function fsTypeOf(parameters: Parameters, defaultFsType: string): string {
  const found = Object.entries(parameters).filter(([key]) => key === FS_TYPE || isOldFsType(key))
  if (found.length > 1) {
    throw new ProvisionError(`fstype specified in parameters with both "fstype" and "${FS_TYPE}" keys`)
  }
  return found[0]?.[1] || defaultFsType
}

const isOldFsType = (key: string): boolean => key.toLowerCase() === 'fstype'

/** Returns a warning for each deprecated key in the parameters. */
export function deprecations(parameters: Parameters): readonly string[] {
  return Object.keys(parameters).flatMap((parameter) => {
    const [key, better] = isOldFsType(parameter) ? ['fstype', FS_TYPE] : [parameter, SECRET_KEYS_BY_OLD.get(parameter)]
    const warning = `"${key}" is deprecated and will be removed in a future release`
    return better === undefined ? [] : [`${warning}, please use "${better}" instead`]
  })
}

/** Returns the parameters for the driver, without reserved keys. Throws ProvisionError for an unknown reserved key. */
export function driverParameters(parameters: Parameters): Record<string, string> {
  const kept = Object.entries(parameters).filter(([key]) => !key.startsWith(RESERVED))
  const unknown = Object.keys(parameters).find((key) => key.startsWith(RESERVED) && !KNOWN_RESERVED_KEYS.has(key))
  if (unknown !== undefined) {
    const why = `found unknown parameter key "${unknown}" with reserved namespace ${RESERVED}`
    throw new ProvisionError(`failed to strip CSI Parameters of prefixed keys: ${why}`)
  }
  return Object.fromEntries(kept)
}

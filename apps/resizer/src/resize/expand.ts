import { messageOf } from '@csi-sidecars/base'
import { AccessModeError, volumeCapabilityOf } from '@csi-sidecars/csi'
import type {
  ControllerExpandVolumeRequest,
  ControllerExpandVolumeResponse,
  VolumeCapability,
} from '@csi-sidecars/csi-proto'
import type { KubeClient } from '@csi-sidecars/kube-client'
import { type PersistentVolumeSpec, Quantity } from '@csi-sidecars/kube-types'
import type { Volume } from '../caches/volume.ts'
import { loadSecret, secretRefOf } from '../claim/secret.ts'
import { AnswerError } from './failure.ts'
import { expandSource } from './source.ts'

/** The driver's part in expansions, with the deadline of --resize-timeout. */
export interface ExpandClient {
  expand(
    request: ControllerExpandVolumeRequest,
    options: { readonly migrated: boolean; readonly signal: AbortSignal },
  ): Promise<ControllerExpandVolumeResponse>
  /** The capability SINGLE_NODE_MULTI_WRITER of the driver when it was connected. */
  readonly singleNodeMultiWriter: boolean
  /** True if the driver is away at the moment. */
  readonly lost: boolean
}

/** The result of an expansion. */
export interface Expanded {
  readonly size: Quantity
  /** True if the kubelet has to expand the file system. */
  readonly nodeStep: boolean
}

export interface ExpandDeps {
  readonly api: Pick<KubeClient, 'get'>
  /** Undefined for a driver that expands on nodes only: there is nothing to call, and kubelet does it all. */
  readonly driver: ExpandClient | undefined
  readonly driverName: string
}

/** Has the driver make the volume at least this large. */
export async function expandVolume(
  { volume, target }: { readonly volume: Volume; readonly target: Quantity },
  { api, driver, driverName }: ExpandDeps,
  signal: AbortSignal,
): Promise<Expanded> {
  if (driver === undefined) return { size: target, nodeStep: true }
  const { spec, csi, migrated } = expandSource(volume.key, volume.source ?? {}, driverName)
  const secrets = await loadSecret(api, secretRefOf(csi.controllerExpandSecretRef), signal)
  const requiredBytes = target.bytes()
  const request: ControllerExpandVolumeRequest = {
    volumeId: csi.volumeHandle,
    capacityRange: { requiredBytes, limitBytes: 0n },
    secrets,
    volumeCapability: capabilityOf(volume.key, spec, driver.singleNodeMultiWriter),
  }
  const { capacityBytes, nodeExpansionRequired } = await driver.expand(request, { migrated, signal })
  const size = Quantity.ofBytes(capacityBytes)
  // Written to the volume, a size that is too small would never meet the claim's and be asked for again for ever.
  if (capacityBytes < requiredBytes) throw new AnswerError(size, target)
  return { size, nodeStep: nodeExpansionRequired }
}

function capabilityOf(name: string, spec: PersistentVolumeSpec, singleNodeMultiWriter: boolean): VolumeCapability {
  try {
    return volumeCapabilityOf({ ...spec, fsType: spec.csi?.fsType }, singleNodeMultiWriter)
  } catch (cause) {
    if (!(cause instanceof AccessModeError)) throw cause
    throw new Error(`failed to get capabilities of volume ${name} with ${messageOf(cause)}`, { cause })
  }
}

import { messageOf } from '@csi-sidecars/base'
import { AccessModeError, secretsFrom, volumeCapabilityOf } from '@csi-sidecars/csi'
import type {
  ControllerExpandVolumeRequest,
  ControllerExpandVolumeResponse,
  VolumeCapability,
} from '@csi-sidecars/csi-proto'
import type { KubeClient } from '@csi-sidecars/kube-client'
import { type PersistentVolumeSpec, Quantity } from '@csi-sidecars/kube-types'
import { readSecret } from '@csi-sidecars/sidecar'
import type { ResizerVolume } from '../caches/volume.ts'
import { secretRefOf } from '../claim/secret.ts'
import { ExpandAnswerError } from './failure.ts'
import { expandSource } from './source.ts'

/** The CSI calls of an expansion, with the deadline of `--resize-timeout`. */
export interface ExpandClient {
  expand(
    request: ControllerExpandVolumeRequest,
    options: { readonly migrated: boolean; readonly signal: AbortSignal },
  ): Promise<ControllerExpandVolumeResponse>
  /** True if the driver had the capability SINGLE_NODE_MULTI_WRITER when it connected. */
  readonly singleNodeMultiWriter: boolean
  /** True while the driver is disconnected. */
  readonly lost: boolean
}

/** The result of an expansion. */
export interface Expanded {
  readonly size: Quantity
  /** True if the kubelet has to expand the file system. */
  readonly nodeStep: boolean
}

/** Everything that a call of ControllerExpandVolume needs. */
export interface ExpandDeps {
  readonly api: Pick<KubeClient, 'get'>
  /** The client of the driver. Undefined if the driver expands on nodes only: the kubelet then does all of the work. */
  readonly driver: ExpandClient | undefined
  readonly driverName: string
}

/** Calls ControllerExpandVolume, so that the volume has at least the target size. */
export async function expandVolume(
  { volume, target }: { readonly volume: ResizerVolume; readonly target: Quantity },
  { api, driver, driverName }: ExpandDeps,
  signal: AbortSignal,
): Promise<Expanded> {
  if (driver === undefined) return { size: target, nodeStep: true }
  const { spec, csi, migrated } = expandSource(volume.key, volume.source ?? {}, driverName)
  const secrets = secretsFrom(await readSecret(api, secretRefOf(csi.controllerExpandSecretRef), { signal }))
  const requiredBytes = target.bytes()
  const request: ControllerExpandVolumeRequest = {
    volumeId: csi.volumeHandle,
    capacityRange: { requiredBytes, limitBytes: 0n },
    secrets,
    volumeCapability: capabilityOf(volume.key, spec, driver.singleNodeMultiWriter),
  }
  const { capacityBytes, nodeExpansionRequired } = await driver.expand(request, { migrated, signal })
  const size = Quantity.ofBytes(capacityBytes)
  // A too small size must not be written to the volume, because the expansion would then be repeated without end.
  if (capacityBytes < requiredBytes) throw new ExpandAnswerError(size, target)
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

import { messageOf } from '@csi-sidecars/base'
import { AccessModeError, classify, RpcError, volumeCapabilityOf } from '@csi-sidecars/csi'
import type {
  ControllerExpandVolumeRequest,
  ControllerExpandVolumeResponse,
  VolumeCapability,
} from '@csi-sidecars/csi-proto'
import type { KubeClient } from '@csi-sidecars/kube-client'
import { type PersistentVolumeSpec, Quantity } from '@csi-sidecars/kube-types'
import type { ResizerVolume } from '../caches/volume.ts'
import { retryAfterOf } from '../claim/run.ts'
import { loadSecret, SecretError, secretRefOf } from '../claim/volume.ts'
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
  { volume, target }: { readonly volume: ResizerVolume; readonly target: Quantity },
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

/** A driver that answers a success which is none. It has done its work and does not continue: as final as an error. */
export class ExpandAnswerError extends Error {
  override readonly name = 'AnswerError'

  constructor(answered: Quantity, required: Quantity) {
    super(`the driver answered a size of ${answered} where at least ${required} was asked for`)
  }
}

/** A call that did not succeed, or was not made because something for it was missing. */
export interface ExpandFailure {
  readonly message: string
  /**
   * `infeasible`: the driver will never do this. `final`: it has failed and is not running.
   * `uncertain`: it may be running, now or from an earlier try.
   */
  readonly kind: 'infeasible' | 'final' | 'uncertain'
  /** The driver does not expand volumes that are in use. */
  readonly inUse: boolean
  /** Whether an event is recorded. */
  readonly report: boolean
  /** When the driver has said to come back. */
  readonly retryAfterMs: number | undefined
}

/**
 * Decides the effect of a failure on the claim, its memory and the retry. Every failure is recorded as an event, except
 * two that do not concern the volume: a driver that disconnected during a call, and an API server that asks to retry
 * later.
 */
export function failureOf(error: unknown, driverLost: boolean): ExpandFailure {
  const message = messageOf(error)
  const base: ExpandFailure = {
    message,
    kind: 'uncertain',
    inUse: false,
    report: true,
    retryAfterMs: undefined,
  }
  if (error instanceof ExpandAnswerError) return { ...base, kind: 'final' }
  if (error instanceof SecretError) return { ...base, report: !error.busy }
  if (!(error instanceof RpcError)) return base
  const { final, infeasible, inUse } = classify(error)
  if (!final && driverLost) return { ...base, report: false }
  const kind = infeasible.expand ? 'infeasible' : final ? 'final' : 'uncertain'
  return { ...base, kind, inUse, retryAfterMs: retryAfterOf(error) }
}

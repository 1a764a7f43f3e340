import { messageOf } from '@csi-sidecars/base'
import type { Driver } from '@csi-sidecars/csi'
import { NodeGetInfo } from '@csi-sidecars/csi-proto'
import { matchesTerm, type PersistentVolume } from '@csi-sidecars/kube-types'
import { FATAL, StartError } from '@csi-sidecars/sidecar'
import { csiVolumeOf } from '../csi-volume.ts'

/** The node of this process with --node-deployment. */
export interface LocalNode {
  readonly name: string
  /** The topology of the node, if the driver reports one. */
  readonly segments: Readonly<Record<string, string>> | undefined
  /** True if claims with immediate binding are provisioned, too. */
  readonly immediateBinding: boolean
  readonly baseDelayMs: number
  readonly maxDelayMs: number
  /** How long a claim waits for a node without the driver. 0: for ever. */
  readonly rescheduleAfterMs: number
}

/** Asks the driver for the topology of its node. Throws StartError. */
export async function nodeSegments(
  driver: Driver,
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<LocalNode['segments']> {
  try {
    const { accessibleTopology } = await driver.call(NodeGetInfo, {}, { timeoutMs, signal })
    return accessibleTopology?.segments
  } catch (cause) {
    signal.throwIfAborted()
    throw new StartError(`Failed to get node info from CSI driver: ${messageOf(cause)}`, { cause, exitCode: FATAL })
  }
}

/** Reports whether the topology of the node allows the volume. True if one of them is unknown. */
export function isReachable(pv: PersistentVolume, { name, segments }: LocalNode): boolean {
  const terms = csiVolumeOf(pv)?.spec?.nodeAffinity?.required?.nodeSelectorTerms
  if (segments === undefined || terms == null) return true
  return terms.some((term) => matchesTerm(term, { name, labels: segments }))
}

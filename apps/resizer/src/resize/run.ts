import type { Quantity } from '@csi-sidecars/kube-types'
import type { ResizerClaim } from '../caches/claim.ts'
import type { ResizerVolume } from '../caches/volume.ts'
import type { ResizerClaimDeps, ResizerClaimRun } from '../claim/run.ts'
import type { ExpandClient } from './expand.ts'
import type { InUseRefusals } from './in-use.ts'
import type { ResizeMemory } from './memory.ts'
import type { ResizeSettings } from './observe.ts'

/** Everything that the runs of expansions share during one term. */
export interface ResizeDeps extends ResizerClaimDeps {
  /** The CSI calls. Undefined for a driver that expands volumes on nodes only. */
  readonly driver: ExpandClient | undefined
  readonly memory: ResizeMemory
  /** Delays expansions of volumes in use. Undefined with `--handle-volume-inuse-error=false`. */
  readonly inUse: InUseRefusals | undefined
  readonly settings: ResizeSettings
}

/** A started expansion, with the claim and the volume at its start. */
export interface ControllerExpansion {
  /** The claim after the patch that records the start of the expansion. */
  readonly claim: ResizerClaim
  /** The claim before the patch that records the start of the expansion. */
  readonly before: ResizerClaim
  /** The volume as the run observed it, even if the run has removed the annotation with the old size since. */
  readonly volume: ResizerVolume
  readonly target: Quantity
}

export type ResizeRun = ResizerClaimRun<ResizeDeps>

/** Returns the error message of an expansion for users. */
export function resizeFailed({ deps }: ResizeRun, volumeName: string, why: string): string {
  return `resize volume "${volumeName}" by resizer "${deps.settings.driverName}" failed: ${why}`
}

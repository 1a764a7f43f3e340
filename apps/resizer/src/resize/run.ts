import type { ResizerClaimDeps, ResizerClaimRun } from '../claim/run.ts'
import type { ExpandClient } from './expand.ts'
import type { InUse } from './in-use.ts'
import type { ResizeMemory, ResizeSettings } from './observe.ts'

export interface ResizeDeps extends ResizerClaimDeps {
  /** The CSI calls. Undefined for a driver that expands volumes on nodes only. */
  readonly driver: ExpandClient | undefined
  readonly memory: ResizeMemory
  /** Delays expansions of volumes in use. Undefined with `--handle-volume-inuse-error=false`. */
  readonly inUse: InUse | undefined
  readonly settings: ResizeSettings
}

export type ResizeRun = ResizerClaimRun<ResizeDeps>

/** Returns the error message of an expansion for users. */
export function resizeFailed({ deps }: ResizeRun, volumeName: string, why: string): string {
  return `resize volume "${volumeName}" by resizer "${deps.settings.driverName}" failed: ${why}`
}

import type { ResizerClaimDeps, ResizerClaimRun } from '../claim/run.ts'
import type { ExpandClient } from './expand.ts'
import type { InUse } from './in-use.ts'
import type { ResizeMemory, ResizeSettings } from './observe.ts'

export interface ResizeDeps extends ResizerClaimDeps {
  /** Undefined for a driver that expands on nodes only. */
  readonly driver: ExpandClient | undefined
  readonly memory: ResizeMemory
  /** Undefined with --handle-volume-inuse-error=false. */
  readonly inUse: InUse | undefined
  readonly settings: ResizeSettings
}

export type ResizeRun = ResizerClaimRun<ResizeDeps>

/** The error of an expansion, in the words that users see. */
export function resizeFailed({ deps }: ResizeRun, volumeName: string, why: string): string {
  return `resize volume "${volumeName}" by resizer "${deps.settings.driverName}" failed: ${why}`
}

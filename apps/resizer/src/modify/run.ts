import type { Clock } from '@csi-sidecars/base'
import type { ControllerModifyVolumeRequest } from '@csi-sidecars/csi-proto'
import type { Reader } from '@csi-sidecars/informer'
import type { ResizerClaim } from '../caches/claim.ts'
import type { AttributesClass } from '../caches/open.ts'
import type { ResizerVolume } from '../caches/volume.ts'
import type { ResizerClaimDeps, ResizerClaimRun } from '../claim/run.ts'
import { SlowSet } from '../claim/slow-set.ts'
import type { ModifyWakeKind } from '../claim/wake-events.ts'

/** The CSI calls of a modification, with the deadline of `--modify-timeout`. */
export interface ModifyClient {
  modify(request: ControllerModifyVolumeRequest, options: { readonly signal: AbortSignal }): Promise<unknown>
  /** True while the driver is disconnected. */
  readonly lost: boolean
}

export interface ModifyDeps extends ResizerClaimDeps {
  readonly driver: ModifyClient
  readonly classes: Pick<Reader<AttributesClass>, 'get'>
  readonly memory: ModifyMemory
  readonly extraMetadata: boolean
  readonly nodeDeployment: boolean
}

export type ModifyRun = ResizerClaimRun<ModifyDeps, ModifyWakeKind>

/** A modification whose begin is recorded in the claim. */
export interface Modification {
  readonly claim: ResizerClaim
  readonly volume: ResizerVolume
  readonly target: AttributesClass
}

/** Results of the driver that are kept in memory only. It does no harm if a restart or a lost Lease drops them. */
export class ModifyMemory {
  /** The claims whose modification may be running. A different one must not begin. */
  readonly uncertain = new Set<string>()
  readonly slow: SlowSet
  /** The UIDs of the classes of other drivers that were last reported, by claim. */
  readonly reportedClasses = new Map<string, string>()

  constructor(clock: Clock, slowMs: number) {
    this.slow = new SlowSet(clock, slowMs)
  }

  /** Forgets a claim that is gone. */
  forget(key: string): void {
    this.uncertain.delete(key)
    this.slow.remove(key)
    this.reportedClasses.delete(key)
  }
}

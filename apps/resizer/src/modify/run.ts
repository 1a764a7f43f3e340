import type { ControllerModifyVolumeRequest } from '@csi-sidecars/csi-proto'
import type { Reader } from '@csi-sidecars/informer'
import type { ResizerClaim } from '../caches/claim.ts'
import type { AttributesClass } from '../caches/open.ts'
import type { ResizerVolume } from '../caches/volume.ts'
import type { ResizerClaimDeps, ResizerClaimRun } from '../claim/run.ts'
import type { ModifyWakeKind } from '../claim/wake-events.ts'
import type { ModifyMemory } from './memory.ts'

/** The CSI calls of a modification, with the deadline of `--modify-timeout`. */
export interface ModifyClient {
  modify(request: ControllerModifyVolumeRequest, options: { readonly signal: AbortSignal }): Promise<unknown>
  /** True while the driver is disconnected. */
  readonly lost: boolean
}

/** Everything that the runs of modifications share during one term. */
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

import type { ControllerModifyVolumeRequest } from '@csi-sidecars/csi-proto'
import type { Reader } from '@csi-sidecars/informer'
import type { AttributesClass } from '../caches/attributes-class.ts'
import type { Claim } from '../caches/claim.ts'
import type { Volume } from '../caches/volume.ts'
import type { ClaimDeps, ClaimRun } from '../claim/run.ts'
import type { ModifyMemory } from './memory.ts'

/** The driver's part in modifications, with the deadline of --modify-timeout. */
export interface ModifyClient {
  modify(request: ControllerModifyVolumeRequest, options: { readonly signal: AbortSignal }): Promise<unknown>
  /** True if the driver is away at the moment. */
  readonly lost: boolean
}

export interface ModifyDeps extends ClaimDeps {
  readonly driver: ModifyClient
  readonly classes: Pick<Reader<AttributesClass>, 'get'>
  readonly memory: ModifyMemory
  /** --extra-modify-metadata. */
  readonly extraMetadata: boolean
  /** --node-deployment. */
  readonly nodeDeployment: boolean
}

export type ModifyRun = ClaimRun<ModifyDeps>

/** A modification that the claim says has begun. */
export interface Modification {
  readonly claim: Claim
  readonly volume: Volume
  readonly target: AttributesClass
}

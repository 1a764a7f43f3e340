import type { Clock } from '@csi-sidecars/base'
import type { Reader } from '@csi-sidecars/informer'
import type { ResizerClaim } from '../caches/claim.ts'
import type { AttributesClass } from '../caches/open.ts'
import type { ResizerVolume } from '../caches/volume.ts'
import type { ModifyMemory } from './memory.ts'

/** The state of one claim at one moment, with everything that its next modification step depends on. */
export interface ModifyView {
  readonly claim: ResizerClaim
  readonly volume: ResizerVolume | undefined
  readonly classOf: (name: string) => AttributesClass | undefined
  /** True if a modification of the claim may be running. */
  readonly uncertain: boolean
  /** True if the driver has just refused the modification as infeasible. */
  readonly isRetriedRarely: boolean
  /** Reports whether the claim has an event about this class of another driver. */
  readonly isClassReported: (target: AttributesClass) => boolean
  /** True with `--node-deployment`. A volume that is not cached then belongs to another node. */
  readonly nodeDeployment: boolean
  /** The wall time for timestamps in the API. */
  readonly now: number
}

/** The caches, the memory and the settings from which the view of a modification is made. */
export interface ModifyObserveDeps {
  readonly claims: { readonly store: Pick<Reader<ResizerClaim>, 'get'> }
  readonly volumes: { readonly store: Pick<Reader<ResizerVolume>, 'get'> }
  readonly classes: Pick<Reader<AttributesClass>, 'get'>
  readonly memory: ModifyMemory
  readonly nodeDeployment: boolean
  readonly clock: Pick<Clock, 'now'>
}

/** Reads the state of a claim from the caches. Returns undefined if the claim is gone. */
export function observeModify(
  key: string,
  { claims, volumes, classes, memory, nodeDeployment, clock }: ModifyObserveDeps,
): ModifyView | undefined {
  const claim = claims.store.get(key)
  if (claim === undefined) return undefined
  return {
    claim,
    volume: volumes.store.get(claim.volumeName),
    classOf: (name) => classes.get(name),
    uncertain: memory.uncertain.has(key),
    isRetriedRarely: memory.infeasibleClaims.expiresInMs(key) !== undefined,
    isClassReported: ({ uid }) => !memory.foreignClasses.isDue(claim.uid, uid),
    nodeDeployment,
    now: clock.now(),
  }
}

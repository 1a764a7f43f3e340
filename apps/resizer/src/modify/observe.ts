import type { Clock } from '@csi-sidecars/base'
import type { Reader } from '@csi-sidecars/informer'
import type { ResizerClaim } from '../caches/claim.ts'
import type { AttributesClass } from '../caches/open.ts'
import type { ResizerVolume } from '../caches/volume.ts'
import type { ModifyMemory } from './run.ts'

/** One claim and all that its next step depends on, at one moment. */
export interface ModifyView {
  readonly claim: ResizerClaim
  /** Undefined when the cache does not have it. */
  readonly volume: ResizerVolume | undefined
  readonly classOf: (name: string) => AttributesClass | undefined
  /** A modification of the claim may be running. */
  readonly uncertain: boolean
  /** The claim's modification was called infeasible, not long ago. */
  readonly slow: boolean
  /** The uid of the class of another driver that was last reported for the claim. */
  readonly reportedClass: string | undefined
  /** --node-deployment: a volume that is not in the cache is another instance's. */
  readonly nodeDeployment: boolean
  /** The wall time for timestamps in the API. */
  readonly now: number
}

export interface ModifyObserveDeps {
  readonly claims: { readonly store: Pick<Reader<ResizerClaim>, 'get'> }
  readonly volumes: { readonly store: Pick<Reader<ResizerVolume>, 'get'> }
  readonly classes: Pick<Reader<AttributesClass>, 'get'>
  readonly memory: ModifyMemory
  readonly nodeDeployment: boolean
  readonly clock: Pick<Clock, 'now'>
}

/** Undefined when the claim is gone. */
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
    slow: memory.slow.leftMs(key) !== undefined,
    reportedClass: memory.reportedClasses.get(key),
    nodeDeployment,
    now: clock.now(),
  }
}

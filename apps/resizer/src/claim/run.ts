import type { Clock, KeyedMutex } from '@csi-sidecars/base'
import type { Run } from '@csi-sidecars/controller'
import type { Recorder } from '@csi-sidecars/events'
import type { Informer } from '@csi-sidecars/informer'
import type { KubeClient, RequestPriority } from '@csi-sidecars/kube-client'
import { namespacedRef, type PersistentVolume, type PersistentVolumeClaim } from '@csi-sidecars/kube-types'
import { type Logger, objectRef } from '@csi-sidecars/telemetry'
import type { ResizerClaim } from '../caches/claim.ts'
import type { ResizerVolume } from '../caches/volume.ts'
import type { ResizerWakeKind } from './wake-events.ts'

/** The part of an informer that a controller uses. */
export type WritableCache<T, W> = Pick<Informer<T, W>, 'storeAnswer' | 'store'>

/** The dependencies of the resize controller and of the modify controller. */
export interface ResizerClaimDeps {
  /** A client that refuses writes once this process no longer leads. */
  readonly api: KubeClient
  readonly claims: WritableCache<ResizerClaim, PersistentVolumeClaim>
  readonly volumes: WritableCache<ResizerVolume, PersistentVolume>
  /**
   * Serializes the writes of both controllers to one claim. Each write enters the cache before the mutex is released,
   * so the next patch does not conflict. The mutex is never held during a call to the driver. Some storage systems
   * require that an expansion and a modification of one claim can run at the same time.
   */
  readonly mutex: KeyedMutex
  /** The claims with a write whose answer was lost. Both controllers share this set. */
  readonly claimsWithLostAnswer: Set<string>
  /** Called before each CSI call: the other controller then prefers the claim. */
  readonly notifyCallStarted: (key: string) => void
  readonly recorder: Pick<Recorder, 'event'>
  readonly clock: Clock
  readonly log: Logger
}

/** One run for a claim, with what all runs of its controller share. */
export interface ResizerClaimRun<D extends ResizerClaimDeps, K extends string = ResizerWakeKind> extends Run<K> {
  readonly key: string
  readonly deps: D
  readonly log: Logger
}

export function newRun<D extends ResizerClaimDeps, K extends string>(
  key: string,
  deps: D,
  controllerRun: Run<K>,
): ResizerClaimRun<D, K> {
  return { ...controllerRun, key, deps, log: deps.log.with({ PVC: objectRef(namespacedRef(key)) }) }
}

/**
 * Returns the priority of the writes before a call and after a failed call. A retry gets low priority, because
 * thousands of failing claims would otherwise use up `--kube-api-qps`.
 */
export function priorityOf({ retrying }: Pick<Run, 'retrying'>): RequestPriority | undefined {
  return retrying ? 'low' : undefined
}

import { type Clock, type KeyedMutex, messageOf } from '@csi-sidecars/base'
import type { Run } from '@csi-sidecars/controller'
import type { EventText, Recorder } from '@csi-sidecars/events'
import type { Informer } from '@csi-sidecars/informer'
import { isNotFound, isOutcomeUnknown, type KubeClient, type RequestPriority } from '@csi-sidecars/kube-client'
import {
  namespacedRef,
  type Patch,
  PERSISTENT_VOLUME_CLAIMS,
  type PersistentVolume,
  type PersistentVolumeClaim,
  referenceTo,
} from '@csi-sidecars/kube-types'
import { type Logger, objectRef } from '@csi-sidecars/telemetry'
import { projectClaim, type ResizerClaim } from '../caches/claim.ts'
import type { ResizerVolume } from '../caches/volume.ts'
import type { ResizerWakeKind } from './wake-events.ts'

/** The maximum number of attempts to patch a claim in one run, if other writers keep changing the claim. */
export const CONFLICT_TRIES = 5

/** The part of an informer that a controller uses. */
export type WritableCache<T, W> = Pick<Informer<T, W>, 'storeOwnWrite' | 'store'>

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
  readonly unconfirmed: Set<string>
  /** Moves the claim to the front of the other controller's queue before each CSI call. */
  readonly notifyCallStarted: (key: string) => void
  readonly recorder: Pick<Recorder, 'event'>
  readonly clock: Clock
  readonly log: Logger
}

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

/** Patches the claim's status. Caches and returns the patched claim. */
export async function patchClaim(
  run: ResizerClaimRun<ResizerClaimDeps>,
  patch: Patch,
  priority?: RequestPriority,
): Promise<ResizerClaim> {
  const { key, deps, signal } = run
  const options = { signal, subresource: 'status', priority }
  try {
    const saved = await deps.api.patch(PERSISTENT_VOLUME_CLAIMS, namespacedRef(key), patch, options)
    deps.claims.storeOwnWrite(saved)
    return projectClaim(saved)
  } catch (error) {
    if (isOutcomeUnknown(error)) deps.unconfirmed.add(key)
    throw error
  }
}

/**
 * Reads the claim again if the answer to its last write was lost, because the claim must record each call before the
 * driver gets it. The client only delays the next write until such a read, but a claim whose modification is in progress
 * needs no write before the call. Returns the error if the read fails.
 */
export async function confirmLastWrite({
  key,
  deps,
  signal,
}: ResizerClaimRun<ResizerClaimDeps>): Promise<Error | undefined> {
  const { api, claims, unconfirmed } = deps
  if (!unconfirmed.has(key)) return undefined
  try {
    claims.storeOwnWrite(await api.get(PERSISTENT_VOLUME_CLAIMS, namespacedRef(key), { signal }))
  } catch (error) {
    signal.throwIfAborted()
    if (!isNotFound(error)) return new Error(`cannot read pvc "${key}" again: ${messageOf(error)}`, { cause: error })
  }
  unconfirmed.delete(key)
  return undefined
}

/**
 * Returns the priority of the writes before a call and after a failed call. A retry gets low priority, because
 * thousands of failing claims would otherwise use up `--kube-api-qps`.
 */
export function priorityOf({ retrying }: Pick<Run, 'retrying'>): RequestPriority | undefined {
  return retrying ? 'low' : undefined
}

/** Returns the newest known state of the claim. Undefined if the claim is gone or was recreated. */
export function knownClaim(
  { key, deps }: ResizerClaimRun<ResizerClaimDeps>,
  { uid }: Pick<ResizerClaim, 'uid'>,
): ResizerClaim | undefined {
  const cached = deps.claims.store.get(key)
  return cached?.uid === uid ? cached : undefined
}

/** Reports whether the cache still has the claim with this UID. */
export function isKnown(run: ResizerClaimRun<ResizerClaimDeps>, claim: Pick<ResizerClaim, 'uid'>): boolean {
  return knownClaim(run, claim) !== undefined
}

/** Reads the claim into the cache after a conflict, so that the next patch is built from the current claim. */
export async function readClaim({ key, deps, log, signal }: ResizerClaimRun<ResizerClaimDeps>): Promise<void> {
  try {
    deps.claims.storeOwnWrite(await deps.api.get(PERSISTENT_VOLUME_CLAIMS, namespacedRef(key), { signal }))
  } catch (error) {
    signal.throwIfAborted()
    // The error does not end the run. If the API server stays unavailable, the next patch ends it.
    log.v(4)?.info('The claim could not be read again', { err: error })
  }
}

export function recordEvent({ deps }: ResizerClaimRun<ResizerClaimDeps>, claim: ResizerClaim, text: EventText): void {
  deps.recorder.event(referenceTo(PERSISTENT_VOLUME_CLAIMS, claim), text)
}

/** Returns the error text of the Go resizer, which has two blanks after "of". */
export function cannotPatch(key: string, cause: unknown): string {
  return `can't patch status of  PVC ${key} with ${messageOf(cause)}`
}

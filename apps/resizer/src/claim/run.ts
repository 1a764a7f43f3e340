import { type Clock, messageOf } from '@csi-sidecars/base'
import type { Run } from '@csi-sidecars/controller'
import type { RpcError } from '@csi-sidecars/csi'
import type { EventText, Recorder } from '@csi-sidecars/events'
import type { Informer } from '@csi-sidecars/informer'
import { isNotFound, isOutcomeUnknown, type KubeClient, type RequestPriority } from '@csi-sidecars/kube-client'
import {
  type Patch,
  PERSISTENT_VOLUME_CLAIMS,
  type PersistentVolume,
  type PersistentVolumeClaim,
} from '@csi-sidecars/kube-types'
import { type Logger, objectRef } from '@csi-sidecars/telemetry'
import { claimRef, eventTarget, projectClaim, type ResizerClaim } from '../caches/claim.ts'
import type { ResizerVolume } from '../caches/volume.ts'
import type { KeyedMutex } from './keyed-mutex.ts'

/** How often a patch is tried in one run because others have changed the claim. */
export const CONFLICT_TRIES = 5

/** The part of an informer that a controller uses. */
export type LearningCache<T, W> = Pick<Informer<T, W>, 'learn' | 'store'>

/** The dependencies of both claim controllers. */
export interface ResizerClaimDeps {
  /** Refuses writes once this process no longer leads. */
  readonly api: KubeClient
  readonly claims: LearningCache<ResizerClaim, PersistentVolumeClaim>
  readonly volumes: LearningCache<ResizerVolume, PersistentVolume>
  /** Shared by both. */
  readonly mutex: KeyedMutex
  /** Claims with a write of which no answer came. Shared by both. */
  readonly unconfirmed: Set<string>
  /** Called right before a call for the claim is sent: the other controller looks at the claim next. */
  readonly notifyCallStarted: (key: string) => void
  readonly recorder: Pick<Recorder, 'event'>
  readonly clock: Clock
  readonly log: Logger
}

/** One run over one claim. */
export interface ResizerClaimRun<D extends ResizerClaimDeps> extends Run {
  readonly key: string
  readonly deps: D
  readonly log: Logger
}

export function newRun<D extends ResizerClaimDeps>(key: string, deps: D, controllerRun: Run): ResizerClaimRun<D> {
  return { ...controllerRun, key, deps, log: deps.log.with({ PVC: objectRef(claimRef({ key })) }) }
}

/** Changes the claim's status. The claim as the server answers it, which the cache knows from here on. */
export async function patchClaim(
  run: ResizerClaimRun<ResizerClaimDeps>,
  patch: Patch,
  priority?: RequestPriority,
): Promise<ResizerClaim> {
  const { key, deps, signal } = run
  const options = { signal, subresource: 'status', priority }
  try {
    const saved = await deps.api.patch(PERSISTENT_VOLUME_CLAIMS, claimRef({ key }), patch, options)
    deps.claims.learn(saved)
    return projectClaim(saved)
  } catch (error) {
    if (isOutcomeUnknown(error)) deps.unconfirmed.add(key)
    throw error
  }
}

/**
 * Reads the result of a write whose response was lost, before anything is decided. The next leader knows only calls
 * that the claim's status announces. Returns the error if the read fails.
 */
export async function confirmLastWrite({
  key,
  deps,
  signal,
}: ResizerClaimRun<ResizerClaimDeps>): Promise<Error | undefined> {
  const { api, claims, unconfirmed } = deps
  if (!unconfirmed.has(key)) return undefined
  try {
    claims.learn(await api.get(PERSISTENT_VOLUME_CLAIMS, claimRef({ key }), { signal }))
  } catch (error) {
    signal.throwIfAborted()
    if (!isNotFound(error)) return new Error(`cannot read pvc "${key}" again: ${messageOf(error)}`, { cause: error })
  }
  unconfirmed.delete(key)
  return undefined
}

/**
 * Priority of the writes before a call and after its failure: low while retrying. Otherwise thousands of failing claims
 * would use up `--kube-api-qps`.
 */
export function priorityOf({ retrying }: Pick<Run, 'retrying'>): RequestPriority | undefined {
  return retrying ? 'low' : undefined
}

/** Reports whether the cache still holds this very claim, so that nothing else will put its key to work. */
export function isKnown({ key, deps }: ResizerClaimRun<ResizerClaimDeps>, { uid }: Pick<ResizerClaim, 'uid'>): boolean {
  return deps.claims.store.get(key)?.uid === uid
}

/** The cache was behind, so the next patch starts from the current claim. */
export async function readClaim({ key, deps, log, signal }: ResizerClaimRun<ResizerClaimDeps>): Promise<void> {
  try {
    deps.claims.learn(await deps.api.get(PERSISTENT_VOLUME_CLAIMS, claimRef({ key }), { signal }))
  } catch (error) {
    signal.throwIfAborted()
    // The next patch shows the problem.
    log.v(4)?.info('The claim could not be read again', { err: error })
  }
}

export function recordEvent({ deps }: ResizerClaimRun<ResizerClaimDeps>, claim: ResizerClaim, text: EventText): void {
  deps.recorder.event(eventTarget(claim), text)
}

/** The text has two blanks, like the original's. */
export function cannotPatch(key: string, cause: unknown): string {
  return `can't patch status of  PVC ${key} with ${messageOf(cause)}`
}

/** When the driver wants to be asked again. No wait at all is no advice: it would be asked without end. */
export function retryAfterOf({ retryAfterMs }: RpcError): number | undefined {
  return retryAfterMs !== undefined && retryAfterMs > 0 ? retryAfterMs : undefined
}

import { unreachable } from '@csi-sidecars/base'
import { AGAIN, type Outcome, SETTLED } from '@csi-sidecars/controller'
import { isConflict, isNotFound } from '@csi-sidecars/kube-client'
import { type Patch, PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, referenceTo, refOf } from '@csi-sidecars/kube-types'
import { type Caches, CLAIMS_BY_CLASS, PODS_BY_CLAIM, volumesFor } from '../caches/caches.ts'
import { type Claim, claimProjection } from '../caches/claim.ts'
import { isTerminated } from '../caches/pod.ts'
import type { CachedClass } from '../caches/storage.ts'
import { claimKeyOf, type Volume } from '../caches/volume.ts'
import { type ControllerParts, except, settledUnlessFailed } from '../control.ts'
import { type ClaimBindingView, type ClaimStep, decideClaim } from './claims.ts'
import { decideVolume, type VolumeStep } from './volumes.ts'

/** Everything that a run for a PersistentVolume needs. */
export interface VolumeRunParts extends ControllerParts {
  readonly lookAtClaim: (key: string) => void
}

export async function reconcileClaim(key: string, deps: ControllerParts, signal: AbortSignal): Promise<Outcome> {
  const view = observeClaim(key, deps.caches)
  if (view === undefined) return SETTLED
  return await settledUnlessFailed(performForClaim(view, deps, signal))
}

export function observeClaim(key: string, caches: Caches): ClaimBindingView | undefined {
  const claim = caches.claims.store.get(key)
  if (claim === undefined) return undefined
  const { volumes, classes, pods } = caches
  return {
    claim,
    named: claim.volumeName === '' ? undefined : volumes.store.get(claim.volumeName),
    volumes: claim.volumeName === '' ? volumesFor(claim, caches) : [],
    storageClass: claim.className ? classes.store.get(claim.className) : undefined,
    defaultClass: defaultOf(classes.store.values()),
    waitingPods: pods.store
      .byIndex(PODS_BY_CLAIM, key)
      .filter((pod) => pod.nodeName === '' && !isTerminated(pod))
      .map(({ name }) => name),
  }
}

/** Returns the newest class that is marked as the default. */
function defaultOf(classes: Iterable<CachedClass>): CachedClass | undefined {
  let newest: CachedClass | undefined
  for (const each of classes) {
    if (each.isDefault && (newest === undefined || each.created > newest.created)) newest = each
  }
  return newest
}

async function performForClaim(view: ClaimBindingView, deps: ControllerParts, signal: AbortSignal): Promise<void> {
  for (const step of decideClaim(view)) await performClaimStep(step, { claim: view.claim, deps, signal })
}

interface ClaimRun {
  readonly claim: Claim
  readonly deps: ControllerParts
  readonly signal: AbortSignal
}

async function performClaimStep(step: ClaimStep, { claim, deps, signal }: ClaimRun): Promise<void> {
  switch (step.kind) {
    case 'patchVolume':
    case 'patchVolumeStatus':
      return await patchVolume(step.volume, step, { deps, signal })
    case 'patchClaim':
    case 'patchClaimStatus': {
      const ref = refOf(claim.key)
      const patched = await deps.client.patch(PERSISTENT_VOLUME_CLAIMS, ref, step.patch, optionsOf(step, signal))
      deps.caches.claims.storeAnswer(patched)
      return
    }
    case 'report':
      return deps.recorder.event(referenceTo(PERSISTENT_VOLUME_CLAIMS, claim), step.event)
    case 'fail':
      throw new Error(step.message)
    default:
      unreachable(step)
  }
}

type PatchStep = Extract<ClaimStep | VolumeStep, { readonly patch: Patch }>

async function patchVolume(
  name: string,
  step: PatchStep,
  { deps: { client, caches }, signal }: Pick<ClaimRun, 'deps' | 'signal'>,
): Promise<void> {
  caches.volumes.storeAnswer(await client.patch(PERSISTENT_VOLUMES, { name }, step.patch, optionsOf(step, signal)))
}

/** Returns the options of a write. A status changes only through the status subresource. */
function optionsOf({ kind: does }: PatchStep, signal: AbortSignal) {
  const ofStatus = does === 'patchVolumeStatus' || does === 'patchClaimStatus'
  return { signal, subresource: ofStatus ? 'status' : undefined }
}

export async function reconcileVolume(key: string, deps: VolumeRunParts, signal: AbortSignal): Promise<Outcome> {
  const volume = deps.caches.volumes.store.get(key)
  if (volume === undefined) return SETTLED
  try {
    const claim = await claimOf(volume, deps, signal)
    for (const step of decideVolume({ volume, claim })) await performForVolume(step, { volume, deps, signal })
    return SETTLED
  } catch (error) {
    if (isConflict(error) && deps.caches.volumes.store.get(key) !== volume) return AGAIN
    if (isNotFound(error)) return SETTLED
    throw error
  }
}

/** Returns the claim in the `claimRef` of a volume. A release requires that the API server lacks the claim, too. */
async function claimOf(
  { claimRef, phase }: Volume,
  { caches, client }: ControllerParts,
  signal: AbortSignal,
): Promise<Claim | undefined> {
  if (claimRef?.uid === undefined) return undefined
  const cached = caches.claims.store.get(claimKeyOf(claimRef))
  if (cached?.uid === claimRef.uid || phase === 'Released' || phase === 'Failed') return cached
  const stored = await except(isNotFound, client.get(PERSISTENT_VOLUME_CLAIMS, claimRef, { signal }))
  return stored && claimProjection(stored)
}

interface VolumeRun {
  readonly volume: Volume
  readonly deps: VolumeRunParts
  readonly signal: AbortSignal
}

async function performForVolume(step: VolumeStep, { volume, deps, signal }: VolumeRun): Promise<void> {
  switch (step.kind) {
    case 'patchVolume':
    case 'patchVolumeStatus':
      return await patchVolume(volume.key, step, { deps, signal })
    case 'recordOnVolume':
      return deps.recorder.event(referenceTo(PERSISTENT_VOLUMES, volume), step.event)
    case 'recordOnClaim':
      return deps.recorder.event(referenceTo(PERSISTENT_VOLUME_CLAIMS, step.claim), step.event)
    case 'lookAtClaim':
      return deps.lookAtClaim(step.key)
    default:
      unreachable(step)
  }
}

/** Returns the claims that wait for a volume of the class. */
export function claimsWaitingFor(className: string, caches: Caches): string[] {
  return caches.claims.store.byIndex(CLAIMS_BY_CLASS, className).map(({ key }) => key)
}

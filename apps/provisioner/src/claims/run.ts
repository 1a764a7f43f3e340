import type { Run } from '@csi-sidecars/controller'
import type { Logger } from '@csi-sidecars/telemetry'
import type { ProvisionerClaim } from '../caches/claim.ts'
import { type ClaimEdit, editClaim, removeClaimFinalizer } from '../edit.ts'
import type { ClaimLabels } from '../metrics.ts'
import type { TermParts } from '../parts.ts'
import type { ClaimWakeKind } from '../request/wake-events.ts'
import type { TopologyNodes } from '../topology/requirement.ts'
import type { ClaimMemory } from './memory.ts'

/** Everything that the runs of claims share during one term. */
export interface ClaimDeps extends Omit<TermParts, 'topology'> {
  /** The nodes of the cluster. Undefined if the driver does not support topology. */
  readonly topology: TopologyNodes | undefined
  readonly memory: ClaimMemory
  /** Enqueues the PersistentVolume with this name, so that it is stored later. */
  readonly storeLater: (name: string) => void
  /** Enqueues the claim with this UID again. */
  readonly claimAgain: (uid: string) => void
}

/** The dependencies of one run for one claim. */
export interface ClaimRun extends Pick<Run, 'signal'> {
  readonly deps: ClaimDeps
  readonly log: Logger
}

/** A run of the controller of claims, whose key may wait for events. */
export interface ReconcileRun extends ClaimRun, Pick<Run<ClaimWakeKind>, 'waitFor'> {}

export function labelsOf(claim: ProvisionerClaim): ClaimLabels {
  return { class: claim.classField ?? '', source: claim.requestedVolume?.dataSource?.kind ?? '' }
}

/** Changes the stored claim. Returns false if the claim is gone. */
export function edit({ deps, signal }: ClaimRun, claim: ProvisionerClaim, change: ClaimEdit): Promise<boolean> {
  return editClaim({ api: deps.api, claims: deps.claims, signal }, claim, change)
}

/** Removes our finalizer from the claim: its CreateVolume call has ended, and the result is stored or given up. */
export async function removeOurFinalizer({ deps, signal }: ClaimRun, claim: ProvisionerClaim): Promise<void> {
  const { api, claims, settings } = deps
  await removeClaimFinalizer({ api, claims, signal }, claim, { finalizer: settings.claimFinalizer })
}

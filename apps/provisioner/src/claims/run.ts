import type { Run } from '@csi-sidecars/controller'
import type { Logger } from '@csi-sidecars/telemetry'
import type { ProvisionerClaim } from '../caches/claim.ts'
import type { ClaimLabels } from '../metrics.ts'
import type { TermParts } from '../parts.ts'
import type { ClaimWakeKind } from '../request/wake-events.ts'
import { StoredClaim } from '../stored-claim.ts'
import type { TopologyNodes } from '../topology/requirement.ts'
import type { ClaimMemory } from './memory.ts'

/** Everything that the runs of claims share during one term. */
export interface ClaimDeps extends Omit<TermParts, 'topology'> {
  /** The nodes of the cluster. Undefined if the driver does not support topology. */
  readonly topology: TopologyNodes | undefined
  readonly memory: ClaimMemory
  /** Enqueues the PersistentVolume with this name, so that it is stored later. */
  readonly finishCreationLater: (name: string) => void
  /** Enqueues the claim with this UID again. */
  readonly enqueueClaimAgain: (uid: string) => void
}

/** The dependencies of one run for one claim. */
export interface ClaimRun extends Pick<Run, 'signal'> {
  readonly deps: ClaimDeps
  readonly log: Logger
  /** The claim in the API server. */
  readonly stored: StoredClaim
}

/** A run of the controller of claims, whose key may wait for events. */
export interface ReconcileRun extends ClaimRun, Pick<Run<ClaimWakeKind>, 'waitFor' | 'stopWaiting'> {}

export function metricLabelsOf(claim: ProvisionerClaim): ClaimLabels {
  return { class: claim.classField ?? '', source: claim.requestedVolume?.dataSource?.kind ?? '' }
}

export function newRun<R extends Pick<Run, 'signal'>>(
  claim: ProvisionerClaim,
  { deps, log, controllerRun }: { readonly deps: ClaimDeps; readonly log: Logger; readonly controllerRun: R },
): ClaimRun & R {
  const { api, claims } = deps
  const stored = new StoredClaim(claim, { api, claims, signal: controllerRun.signal })
  return { ...controllerRun, deps, log, stored }
}

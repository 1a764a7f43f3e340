import type { PersistentVolumeClaim } from '@csi-sidecars/kube-types'
import { refOf, timeOf } from '../facts/facts.ts'
import { claimWorkFinding, type WorkContext } from './claim-work.ts'
import type { FailureCause } from './failure.ts'
import { type Evidence, evidenceOf, type WaitFinding } from './finding.ts'
import { ROWS } from './rows.ts'

/** Returns the finding of the resizer's part of an expansion. */
export function expandFinding(claim: PersistentVolumeClaim, context: WorkContext): WaitFinding {
  const word = claim.status?.allocatedResourceStatuses?.['storage']
  const { driver } = context
  const requestedSize = claim.status?.allocatedResources?.['storage'] ?? requestOf(claim) ?? ''
  const begun = word !== undefined || conditionOf(claim, 'Resizing') !== undefined
  const infeasible: FailureCause = {
    reason: 'InfeasibleSize',
    waitsFor: `a request that ${driver} can fulfil: it will never expand the volume to ${requestedSize}`,
    advice: ROWS.infeasibleSize,
  }
  return claimWorkFinding(
    {
      claim,
      operation: 'expand',
      failedReason: 'VolumeResizeFailed',
      doneReasons: ['VolumeResizeSuccessful', 'FileSystemResizeRequired'],
      since: sinceOf(claim, ['Resizing', 'ControllerResizeError']),
      shownCause: word === 'ControllerResizeInfeasible' ? infeasible : undefined,
      silent: begun
        ? { reason: 'DriverSilent', waitsFor: `driver ${driver} to expand the volume`, advice: ROWS.resizing }
        : { reason: 'NotBegun', waitsFor: `its turn to be expanded to ${requestedSize}`, advice: ROWS.resizeNotBegun },
      refusedAdvice: ROWS.resizeFailed,
      evidence: resizeEvidence(claim),
    },
    context,
  )
}

function requestOf({ spec }: PersistentVolumeClaim): string | undefined {
  return spec?.resources?.requests?.['storage']
}

type Condition = NonNullable<NonNullable<PersistentVolumeClaim['status']>['conditions']>[number]

function conditionOf({ status }: PersistentVolumeClaim, type: string): Condition | undefined {
  return status?.conditions?.find((each) => each.type === type && each.status === 'True')
}

/** Returns the oldest time of these conditions. The wait may be older: some conditions get a new time at each retry. */
export function sinceOf(claim: PersistentVolumeClaim, types: readonly string[]): number | undefined {
  const times = types.flatMap((type) => timeOf(conditionOf(claim, type)?.lastTransitionTime) ?? [])
  return times.length === 0 ? undefined : Math.min(...times)
}

/** Returns the requested and the present size of the claim, and its conditions. */
export function resizeEvidence(claim: PersistentVolumeClaim): readonly Evidence[] {
  const { status } = claim
  const sizes = evidenceOf(refOf('PersistentVolumeClaim', claim), {
    '.spec.resources.requests.storage': requestOf(claim),
    '.status.capacity.storage': status?.capacity?.['storage'],
    '.status.allocatedResources.storage': status?.allocatedResources?.['storage'],
    '.status.allocatedResourceStatuses.storage': status?.allocatedResourceStatuses?.['storage'],
  })
  return [...sizes, ...conditionEvidence(claim)]
}

export function conditionEvidence(claim: PersistentVolumeClaim): readonly Evidence[] {
  const object = refOf('PersistentVolumeClaim', claim)
  return (claim.status?.conditions ?? []).map(({ type, status, lastTransitionTime, message }) => ({
    object,
    field: `.status.conditions[${type}]`,
    value: [status, lastTransitionTime && `since ${lastTransitionTime}`, message].filter(Boolean).join(', '),
  }))
}

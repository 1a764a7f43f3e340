import { type PersistentVolumeClaim, Quantity } from '@csi-sidecars/kube-types'
import { keyOf, refOf, timeOf } from '../facts/facts.ts'
import { usersOf } from './claim-users.ts'
import { type ClaimContext, claimWorkFinding } from './claim-work.ts'
import { CERTAIN, type Evidence, type Finding } from './finding.ts'
import { ROWS } from './rows.ts'

/** What the growth of a claim waits for; none when it has what it asks for. */
export function resizeFindings(claim: PersistentVolumeClaim, context: ClaimContext): readonly Finding[] {
  const word = claim.status?.allocatedResourceStatuses?.['storage']
  if (word === 'NodeResizePending' || word === 'NodeResizeInProgress' || word === 'NodeResizeInfeasible') {
    return [nodeStep(claim, word, context)]
  }
  if (word === undefined && conditionOf(claim, 'FileSystemResizePending') !== undefined) {
    return [nodeStep(claim, 'NodeResizePending', context)]
  }
  if (word === undefined && !wantsMore(claim)) return []
  return [controllerStep(claim, word, context)]
}

function controllerStep(claim: PersistentVolumeClaim, word: string | undefined, context: ClaimContext): Finding {
  const { driver } = context
  const wanted = claim.status?.allocatedResources?.['storage'] ?? requestOf(claim) ?? ''
  const begun = word !== undefined || conditionOf(claim, 'Resizing') !== undefined
  const infeasible = {
    reason: 'InfeasibleSize',
    waitsFor: `a request that ${driver} can fulfil: it will never expand the volume to ${wanted}`,
    advice: ROWS.infeasibleSize,
  }
  return claimWorkFinding(
    {
      claim,
      operation: 'expand',
      failedReason: 'VolumeResizeFailed',
      doneReasons: ['VolumeResizeSuccessful', 'FileSystemResizeRequired'],
      since: sinceOf(claim, ['Resizing', 'ControllerResizeError']),
      known: word === 'ControllerResizeInfeasible' ? infeasible : undefined,
      silent: begun
        ? { reason: 'DriverSilent', waitsFor: `driver ${driver} to expand the volume`, advice: ROWS.resizing }
        : { reason: 'NotBegun', waitsFor: `its turn to be expanded to ${wanted}`, advice: ROWS.resizeNotBegun },
      refusedAdvice: ROWS.resizeFailed,
      evidence: evidenceOf(claim),
    },
    context,
  )
}

/** The volume has grown, and the file system has not. */
function nodeStep(claim: PersistentVolumeClaim, word: string, { facts }: ClaimContext): Finding {
  const object = refOf('PersistentVolumeClaim', claim)
  const users = usersOf(claim, facts)
  const since = sinceOf(claim, ['FileSystemResizePending', 'NodeResizeError'])
  const failed = word === 'NodeResizeInfeasible' || conditionOf(claim, 'NodeResizeError') !== undefined
  const young = since !== undefined && facts.now - since < facts.stuckAfterMs
  return {
    reason: failed ? 'NodeResizeFails' : 'NodeResizePending',
    object,
    waiter: 'the file system of the claim',
    waitsFor:
      users.length === 0
        ? 'a pod that uses the claim, where the kubelet can make it grow'
        : `the kubelet to make it grow, where ${users.map(keyOf).join(', ')} runs`,
    since,
    atLeast: true,
    stuck: failed || (users.length > 0 && !young),
    ...CERTAIN,
    evidence: evidenceOf(claim),
    advice: failed ? ROWS.nodeResizeFailed : ROWS.nodeResizePending,
  }
}

function requestOf({ spec }: PersistentVolumeClaim): string | undefined {
  return spec?.resources?.requests?.['storage']
}

function wantsMore(claim: PersistentVolumeClaim): boolean {
  const request = requestOf(claim)
  const capacity = claim.status?.capacity?.['storage']
  if (request === undefined || capacity === undefined) return false
  return Quantity.parse(request).compare(Quantity.parse(capacity)) > 0
}

type Condition = NonNullable<NonNullable<PersistentVolumeClaim['status']>['conditions']>[number]

export function conditionOf({ status }: PersistentVolumeClaim, type: string): Condition | undefined {
  return status?.conditions?.find((each) => each.type === type && each.status === 'True')
}

/** Some conditions get a new time with each try: it has begun at the oldest, or before. */
export function sinceOf(claim: PersistentVolumeClaim, types: readonly string[]): number | undefined {
  const times = types.flatMap((type) => timeOf(conditionOf(claim, type)?.lastTransitionTime) ?? [])
  return times.length === 0 ? undefined : Math.min(...times)
}

/** What the claim asks for, what it has, and what its conditions say. */
function evidenceOf(claim: PersistentVolumeClaim): readonly Evidence[] {
  const object = refOf('PersistentVolumeClaim', claim)
  const { status } = claim
  const fields: readonly (readonly [string, string | undefined])[] = [
    ['.spec.resources.requests.storage', requestOf(claim)],
    ['.status.capacity.storage', status?.capacity?.['storage']],
    ['.status.allocatedResources.storage', status?.allocatedResources?.['storage']],
    ['.status.allocatedResourceStatuses.storage', status?.allocatedResourceStatuses?.['storage']],
  ]
  const known = fields.flatMap(([field, value]) => (value === undefined ? [] : [{ object, field, value }]))
  return [...known, ...conditionEvidence(claim)]
}

export function conditionEvidence(claim: PersistentVolumeClaim): readonly Evidence[] {
  const object = refOf('PersistentVolumeClaim', claim)
  return (claim.status?.conditions ?? []).map(({ type, status, lastTransitionTime, message }) => ({
    object,
    field: `.status.conditions[${type}]`,
    value: [status, lastTransitionTime && `since ${lastTransitionTime}`, message].filter(Boolean).join(', '),
  }))
}

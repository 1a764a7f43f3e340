import type { Event, PersistentVolumeClaim } from '@csi-sidecars/kube-types'
import { type ClusterFacts, keyOf, refOf, timeOf } from '../facts/facts.ts'
import { usersOf } from './claim-users.ts'
import { earliest, eventEvidence, lastEvent, lastTime } from './events.ts'
import { causeOf, type FailureCause } from './failure.ts'
import {
  CERTAIN,
  type Evidence,
  likely,
  possible,
  type RowKey,
  sidecarOf,
  stuckNow,
  type WaitFinding,
} from './finding.ts'
import {
  ALIKE,
  doubtOf,
  hasNoLeader,
  type Leadership,
  leaderCause,
  leadershipOf,
  leaseEvidence,
  NO_LEASES,
  noLeaderText,
} from './leadership.ts'
import { pendingEvidence, pendingOf, reasonOf } from './pending.ts'
import { ROWS } from './rows.ts'

/** The facts that the findings of a claim need in addition to the claim. */
export interface WorkContext {
  readonly facts: ClusterFacts
  readonly driver: string
}

/** Unfinished work of the resizer on a claim, with the texts for its finding. */
export interface ClaimWork {
  readonly claim: PersistentVolumeClaim
  readonly operation: 'expand' | 'modify'
  /** The reason of events about failures. `doneReasons` are the reasons of events about success. */
  readonly failedReason: string
  readonly doneReasons: readonly string[]
  /** The start of the wait according to the claim. An earlier event takes precedence. */
  readonly since: number | undefined
  /** The cause that the claim itself shows. It takes precedence over error messages. */
  readonly shownCause?: FailureCause | undefined
  readonly silent: FailureCause
  /** The advice for an error with an unknown cause, and for a refusal of the driver. */
  readonly refusedAdvice: RowKey
  readonly evidence: readonly Evidence[]
}

const SIDECAR = 'external-resizer'

/** Returns the finding of an expansion or a modification. */
export function claimWorkFinding(work: ClaimWork, { facts, driver }: WorkContext): WaitFinding {
  const { claim } = work
  const object = refOf('PersistentVolumeClaim', claim)
  const leadership = leadershipOf(facts, SIDECAR, driver)
  const pending = pendingOf(facts, object, [work.operation])
  const failed = lastFailure(work, facts)
  const errorMessage = failed?.message ?? pending?.message
  const reportedCause =
    work.shownCause ?? (errorMessage === undefined ? undefined : causeOfMessage(errorMessage, work, { facts, driver }))
  const since = timeOf(pending?.since) ?? earliest(work.since, timeOf(failed?.firstTimestamp))
  const finding = (failureCause: FailureCause, sure: Certainty, reason = failureCause.reason): WaitFinding => ({
    object,
    waiter: sidecarOf(SIDECAR, driver),
    since,
    atLeast: timeOf(pending?.since) === undefined,
    ...failureCause,
    ...sure,
    stuck: stuckNow(reason, { since, pending, facts }),
    evidence: [
      ...work.evidence,
      ...eventEvidence(failed),
      ...leaseEvidence(leadership, facts),
      ...pendingEvidence(pending),
    ],
  })
  if (hasNoLeader(leadership)) {
    const waitsFor = noLeaderText(leadership, facts, reportedCause?.waitsFor)
    return finding({ reason: 'NoLeader', waitsFor, advice: ROWS.noLeader }, doubtOf(leadership))
  }
  if (reportedCause !== undefined) {
    return finding(
      reportedCause,
      work.shownCause === undefined ? likely('it is what the last try has ended with') : CERTAIN,
    )
  }
  if (pending !== undefined && pending.waitsFor.length > 0) {
    return finding({ ...work.silent, waitsFor: pending.waitsFor.join(', ') }, CERTAIN, reasonOf(pending))
  }
  const leader = leaderCause(leadership, facts)
  if (leader !== undefined) return finding(leader, leader)
  if (leadership.kind === 'none' && work.silent.reason === 'NotBegun') {
    const waitsFor = `an ${SIDECAR} for ${driver}, of which there is no sign`
    return finding({ ...work.silent, reason: 'NoSidecarSeen', waitsFor }, doubtIn(leadership, driver))
  }
  return finding(work.silent, doubtIn(leadership, driver))
}

type Certainty = Pick<WaitFinding, 'sure' | 'doubt'>

function doubtIn({ kind }: Leadership, driver: string): Certainty {
  if (kind === 'unseen') return possible(NO_LEASES)
  if (kind !== 'none') return likely(ALIKE)
  return possible(
    `no Lease of an ${SIDECAR} for ${driver} is there, as it is without leader election and with --node-deployment`,
  )
}

function causeOfMessage(errorMessage: string, work: ClaimWork, { facts, driver }: WorkContext): FailureCause {
  const failureCause = causeOf(errorMessage, { sidecar: SIDECAR, driver })
  if (failureCause === undefined) {
    return {
      reason: 'Fails',
      waitsFor: `what the last try has failed for: ${errorMessage}`,
      advice: work.refusedAdvice,
    }
  }
  if (failureCause.reason === 'ClaimInUse')
    return { ...failureCause, waitsFor: usersText(work.claim, facts) ?? failureCause.waitsFor }
  return failureCause.reason === 'DriverRefuses' ? { ...failureCause, advice: work.refusedAdvice } : failureCause
}

function usersText(claim: PersistentVolumeClaim, facts: ClusterFacts): string | undefined {
  const users = usersOf(claim, facts)
  if (users.length === 0) return undefined
  const why = 'because the driver expands only volumes that are not in use'
  return `${users.length === 1 ? 'Pod' : 'Pods'} ${users.map(keyOf).join(', ')} to end, ${why}`
}

/** Returns the newest failure. Undefined if a success came after it. */
function lastFailure({ claim, failedReason, doneReasons }: ClaimWork, facts: ClusterFacts): Event | undefined {
  const failed = lastEvent(claim.metadata?.uid, facts, [failedReason])
  const done = lastEvent(claim.metadata?.uid, facts, doneReasons)
  return failed === undefined || (done !== undefined && lastTime(done) > lastTime(failed)) ? undefined : failed
}

import { rfc3339 } from '@csi-sidecars/kube-types'
import type { Claim } from '../caches/claim.ts'
import { CONDITION } from '../caches/names.ts'
import { type Condition, withCondition, withoutConditions } from '../claim/patch.ts'

const { resizing: RESIZING, nodeStepPending: NODE_STEP_PENDING, controllerError: CONTROLLER_ERROR } = CONDITION

const OF_EARLIER_RESIZE: ReadonlySet<string> = new Set([NODE_STEP_PENDING, CONTROLLER_ERROR, CONDITION.nodeError])
const OF_RESIZE: ReadonlySet<string> = new Set([RESIZING, ...OF_EARLIER_RESIZE])

type Conditions = readonly Condition[]

/** A new size removes the conditions of earlier tries. A repeated size keeps them. */
export function resizing({ conditions }: Claim, now: number, { newSize }: { newSize: boolean }): Conditions {
  const kept = newSize ? withoutConditions(conditions, OF_EARLIER_RESIZE) : conditions
  return withCondition(kept, condition(RESIZING, now))
}

export function failed({ conditions }: Claim, now: number, message: string): Conditions {
  return withCondition(conditions, condition(CONTROLLER_ERROR, now, message))
}

export function nodeStepPending({ conditions }: Claim, now: number): Conditions {
  const message = 'Waiting for user to (re-)start a pod to finish file system resize of volume on node.'
  return withCondition(conditions, condition(NODE_STEP_PENDING, now, message))
}

export function finished({ conditions }: Claim): Conditions {
  return withoutConditions(conditions, OF_RESIZE)
}

export function isNodeStepPending({ conditions }: Claim): boolean {
  return conditions?.some(({ type, status }) => type === NODE_STEP_PENDING && status === 'True') === true
}

function condition(type: string, now: number, message?: string): Condition {
  const base: Condition = { type, status: 'True', lastProbeTime: null, lastTransitionTime: rfc3339(now) }
  return message === undefined ? base : { ...base, message }
}

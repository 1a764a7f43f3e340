import { rfc3339 } from '@csi-sidecars/kube-types'
import type { Claim } from '../caches/claim.ts'
import { type Condition, withCondition, withoutConditions } from '../claim-patch.ts'

const RESIZING = 'Resizing'
const NODE_STEP_PENDING = 'FileSystemResizePending'
const CONTROLLER_ERROR = 'ControllerResizeError'
const NODE_ERROR = 'NodeResizeError'

const OF_RESIZE: ReadonlySet<string> = new Set([RESIZING, NODE_STEP_PENDING, CONTROLLER_ERROR, NODE_ERROR])
const OF_EARLIER_RESIZE: ReadonlySet<string> = new Set([NODE_STEP_PENDING, CONTROLLER_ERROR, NODE_ERROR])

type Conditions = readonly Condition[]

/** A size that was not tried before ends what earlier tries have left; one more try of the same size keeps it. */
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

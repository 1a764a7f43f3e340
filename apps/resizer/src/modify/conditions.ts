import { rfc3339 } from '@csi-sidecars/kube-types'
import type { Claim } from '../caches/claim.ts'
import { CONDITION } from '../caches/names.ts'
import { type Condition, withCondition, withoutConditions } from '../claim/patch.ts'

const { modifying: MODIFYING, modifyError: MODIFY_ERROR } = CONDITION

type Conditions = readonly Condition[]

/** The driver's error: the name of its code, and its message. */
export interface DriverError {
  readonly reason: string
  readonly message: string
}

export function isModifying({ conditions }: Claim): boolean {
  return conditions?.some(({ type }) => type === MODIFYING) === true
}

export function modifying({ conditions }: Claim, now: number, message: string): Conditions {
  return put(conditions, { type: MODIFYING, message }, now)
}

/** A driver that says nothing leaves no message: the API does not keep empty ones. */
export function modifyFailed(
  claim: Claim,
  now: number,
  { state, error }: { readonly state: string; readonly error: DriverError },
): Conditions {
  const { reason, message } = error
  const words = message === '' ? { reason } : { reason, message }
  return put(modifying(claim, now, state), { type: MODIFY_ERROR, ...words }, now)
}

export function notModifying({ conditions }: Claim): Conditions {
  return withoutConditions(conditions, new Set([MODIFYING]))
}

export function modified({ conditions }: Claim): Conditions {
  return withoutConditions(conditions, new Set([MODIFYING, MODIFY_ERROR]))
}

interface Words {
  readonly type: string
  readonly reason?: string
  readonly message?: string
}

/** Sets the probe time to now. Sets the transition time to now only if the status or the reason changes. */
function put(conditions: Conditions | undefined, words: Words, now: number): Conditions {
  const before = conditions?.find(({ type }) => type === words.type)
  const status = 'True'
  const lastProbeTime = rfc3339(now)
  const same = before?.status === status && (before.reason ?? '') === (words.reason ?? '')
  const lastTransitionTime = same ? before.lastTransitionTime : lastProbeTime
  return withCondition(conditions, { ...words, status, lastProbeTime, lastTransitionTime })
}

import { endPlan, type PlanCheck, type PlanCheckResult, planOf } from '@csi-sidecars/controller'
import type { Patch } from '@csi-sidecars/kube-types'
import type { CachedAttachment } from '../caches/attachment.ts'
import { triviallyAttachedPatch } from '../volume-attachment/patches.ts'

/** An attachment of a driver that cannot attach, read at one moment. */
export interface TrivialView {
  readonly va: CachedAttachment
  /** The milliseconds before a write that other writers undo repeatedly. 0: no wait. */
  readonly undoneWaitMs: number
}

export type TrivialStep =
  | { readonly kind: 'postpone'; readonly ms: number }
  /** Marks the attachment as attached. */
  | { readonly kind: 'markAttached'; readonly patch: Patch }

type Result = PlanCheckResult<TrivialStep>

/** The checks of an attachment. It is marked even if it is being deleted. */
const TRIVIAL_CHECKS: readonly PlanCheck<TrivialView, TrivialStep>[] = [
  isForeignOrAttached, // Does nothing for an attachment of another attacher, or that is marked.
  isUndoneRepeatedly, // Waits, because other writers undo our write.
  isNotAttached, // Marks the attachment as attached.
]

/** Returns the steps for an attachment. Empty if there is nothing to do. */
export function decideTrivial(view: TrivialView): readonly TrivialStep[] {
  return planOf(TRIVIAL_CHECKS, view)
}

function isForeignOrAttached({ va }: TrivialView): Result {
  return !va.ours || va.attached === true ? endPlan() : undefined
}

function isUndoneRepeatedly({ undoneWaitMs }: TrivialView): Result {
  return undoneWaitMs > 0 ? endPlan({ kind: 'postpone', ms: undoneWaitMs }) : undefined
}

function isNotAttached({ va }: TrivialView): Result {
  const patch = triviallyAttachedPatch(va)
  return patch && endPlan({ kind: 'markAttached', patch })
}

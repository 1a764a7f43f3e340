import { AGAIN, type Outcome, WORK_COMPLETED } from '@csi-sidecars/controller'
import type { Content } from '../caches/content.ts'
import { isToBeDeleted } from './decide.ts'
import { NotReadyError } from './failure.ts'

/** Returns the outcome of a run that has stored the answer of the driver. `content` is the newest state. */
export function outcomeOf(content: Content): Outcome {
  if (isToBeDeleted(content)) return AGAIN
  if (content.status?.ready === true) return WORK_COMPLETED
  return { kind: 'retry', cause: new NotReadyError('the snapshot is not ready to use') }
}

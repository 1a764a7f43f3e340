export { awaitedObjects } from './awaited-objects.ts'
export { Backlog } from './backlog.ts'
export { type CallFailure, callFailure } from './call-failure.ts'
export {
  AGAIN,
  type AnyController,
  type Controller,
  type Outcome,
  type Run,
  SETTLED,
  type TraceSubject,
  WORK_COMPLETED,
} from './controller.ts'
export { EventDeduplicator } from './event-deduplicator.ts'
export { failureLog } from './failure.ts'
export {
  type AddedFinalizer,
  addFinalizer,
  type FinalizedObject,
  type RemovedFinalizer,
  removeFinalizer,
} from './finalizers.ts'
export type { PendingTable, PendingWork, WorkSubject } from './pending.ts'
export { checked, endPlan, next, type PlanCheck, type PlanCheckResult, planOf } from './plan.ts'
export { adaptToPressure } from './pressure.ts'
export {
  bringsNews,
  type Enqueuer,
  enqueueOn,
  forgetDeleted,
  forgetHistoryOn,
  KeyFeed,
  objectOf,
  presentKey,
  type QueueTrigger,
  type Source,
  type Trigger,
  WakeFeed,
  wakeOn,
} from './sources.ts'
export { type Lead, runTerm } from './term.ts'
export { type UpdateResult, updateLatest } from './update-latest.ts'
export type { WakeEvent } from './wake-event.ts'
export type { Waker, Wakers } from './wakers.ts'

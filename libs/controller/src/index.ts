export { Backlog, type Depth } from './backlog.ts'
export type { Controller, Run, TraceSubject } from './controller.ts'
export type { Lead, ReadCache } from './lead.ts'
export { AGAIN, type Outcome, SETTLED } from './outcome.ts'
export type { KeyState, Operation, PendingTable, PendingWork, Phase, Subject } from './pending.ts'
export type { FollowedDriver } from './schedule.ts'
export {
  causesOf,
  type Enqueuer,
  KeyFeed,
  keysOf,
  objectOf,
  objectsOf,
  presentKey,
  type QueueTrigger,
  resetsOf,
  type Source,
  type Trigger,
} from './sources.ts'
export { runTerm, type TermOptions } from './term.ts'
export type { Cause } from './waiting.ts'

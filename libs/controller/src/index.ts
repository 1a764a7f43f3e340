export { Backlog } from './backlog.ts'
export type { Controller, Run, TraceSubject } from './controller.ts'
export type { Lead } from './lead.ts'
export { AGAIN, DONE, type Outcome, SETTLED } from './outcome.ts'
export type { PendingTable, PendingWork, Subject } from './pending.ts'
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
export { runTerm } from './term.ts'
export type { Cause } from './waiting.ts'

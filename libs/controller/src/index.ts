export type { Controller, Phase, Run, TraceSubject } from './controller.ts'
export { caughtUp, type Lead, type ReadCache } from './lead.ts'
export { AGAIN, type Outcome, SETTLED } from './outcome.ts'
export type { FollowedDriver, KeyState } from './runner.ts'
export {
  causesOf,
  type Enqueuer,
  keysOf,
  objectsOf,
  type QueueTrigger,
  resetsOf,
  type Source,
  type Trigger,
} from './sources.ts'
export { runTerm, type TermOptions } from './term.ts'
export type { Cause } from './waiting.ts'

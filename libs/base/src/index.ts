export { abortable, aborted, CancelledError, DeadlineError, deadline, isAbort, type Scope, scope } from './abort.ts'
export { AdaptiveLimit } from './adaptive-limit.ts'
export { Backoff, exponential } from './backoff.ts'
export { BatchTimer, inBatches, inParallel } from './batches.ts'
export { type Cancel, type Clock, MINUTE, SECOND, systemClock } from './clock.ts'
export { answeredOrValues, refuseRepeated, throwRefusal } from './command-line.ts'
export {
  errorChain,
  InvariantError,
  invariant,
  isError,
  messageOf,
  systemCodeOf,
  toError,
  unreachable,
} from './errors.ts'
export { Heap, type HeapItem, NOT_IN_HEAP } from './heap.ts'
export { KeyedMutex } from './keyed-mutex.ts'
export { inPhase, onAbort, onPhase, type RunPhase } from './on-abort.ts'
export { TokenBucket } from './token-bucket.ts'

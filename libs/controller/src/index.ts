export { type ControllerOptions, runController } from './controller.ts'
export { AGAIN, type Outcome, SETTLED, STOPPED } from './outcome.ts'
export { feed, type KeySink, type Trigger } from './trigger.ts'

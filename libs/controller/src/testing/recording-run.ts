import type { Run } from '../controller.ts'
import type { WakeEvent } from '../wake-event.ts'

/** A `Run` for tests that call `reconcile` without a controller. */
export interface RecordingRun extends Run<string> {
  /** The events of the last call of `waitFor`. Undefined if it was not called. */
  readonly waitsFor: readonly WakeEvent[] | undefined
}

export function recordingRun(signal: AbortSignal = new AbortController().signal): RecordingRun {
  let waitsFor: readonly WakeEvent[] | undefined
  return {
    signal,
    retrying: false,
    waitedFor: [],
    waitFor: (...events) => {
      waitsFor = events
    },
    observe: (read) => read(),
    get waitsFor() {
      return waitsFor
    },
  }
}

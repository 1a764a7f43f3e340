import type { Run } from '../controller.ts'
import type { WakeEvent } from '../wake-event.ts'

/** A `Run` for tests that call `reconcile` without a controller. */
export interface RecordingRun extends Run<string> {
  /** The events that the run has set last. Undefined if it has set none. Empty after `stopWaiting`. */
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
    stopWaiting: () => {
      waitsFor = []
    },
    observe: (read) => read(),
    get waitsFor() {
      return waitsFor
    },
  }
}

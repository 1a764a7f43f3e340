import type { Run } from '../controller.ts'
import type { Cause } from '../waiting.ts'

/** A `Run` for tests that call `reconcile` without a controller. */
export interface RecordingRun extends Run {
  /** The causes of the last call of `waitFor`. Undefined if it was not called. */
  readonly causes: readonly Cause[] | undefined
}

export function recordingRun(signal: AbortSignal = new AbortController().signal): RecordingRun {
  let causes: readonly Cause[] | undefined
  return {
    signal,
    retrying: false,
    waitedFor: [],
    waitFor: (...given) => {
      causes = given
    },
    observe: (read) => read(),
    get causes() {
      return causes
    },
  }
}

import type { Run } from '../controller.ts'
import type { Cause } from '../waiting.ts'

/** A run for a reconcile that is tested without its controller. */
export interface RecordingRun extends Run {
  /** The causes that the run has set. Undefined: the run has set none. */
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

import type { Run } from '../controller.ts'
import type { Cause } from '../waiting.ts'

/** A run for a reconcile that is tested without its controller. */
export interface RecordingRun extends Run {
  /** What the key waits for as far as the run has said; undefined when it has not. */
  readonly causes: readonly Cause[] | undefined
}

export function recordingRun(signal: AbortSignal = new AbortController().signal): RecordingRun {
  let causes: readonly Cause[] | undefined
  return {
    signal,
    waitFor: (...given) => {
      causes = given
    },
    enter: () => undefined,
    get causes() {
      return causes
    },
  }
}

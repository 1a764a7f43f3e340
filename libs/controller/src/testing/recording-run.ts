import type { Run } from '../controller.ts'
import type { Phase } from '../pending.ts'
import type { Cause } from '../waiting.ts'

/** A run for a reconcile that is tested without its controller. */
export interface RecordingRun extends Run {
  /** What the key waits for as far as the run has said; undefined when it has not. */
  readonly causes: readonly Cause[] | undefined
  /** What it was busy with, in order; `completed` where it has said so. */
  readonly phases: readonly (Phase | 'completed')[]
}

export function recordingRun(signal: AbortSignal = new AbortController().signal): RecordingRun {
  let causes: readonly Cause[] | undefined
  const phases: (Phase | 'completed')[] = []
  return {
    signal,
    retrying: false,
    waitedFor: [],
    phases,
    waitFor: (...given) => {
      causes = given
    },
    markSeen: () => undefined,
    enter: (phase) => void phases.push(phase),
    complete: () => void phases.push('completed'),
    get causes() {
      return causes
    },
  }
}

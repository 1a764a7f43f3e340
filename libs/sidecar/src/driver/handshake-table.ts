import type { Decisive } from '@csi-sidecars/csi'
import type { Question, StepFailure } from './capability-questions.ts'

/** A driver with an in-tree ancestor is connected to once more, now that its name is known. */
export interface ConnectionFailures {
  readonly connect: StepFailure
  readonly probe: StepFailure
}

/** How a sidecar identifies its driver: the steps are the same for all, limits and messages are its own. */
export interface HandshakeTable {
  readonly limits: {
    /** For each Probe. */
    readonly probeMs: number
    readonly nameMs: number
    /** For all questions of the start together. Left out: each has its own only. */
    readonly questionsMs?: number
  }
  readonly failures: {
    readonly first: ConnectionFailures
    /** Left out: the sidecar does not connect again to a driver with an in-tree ancestor. */
    readonly migrated?: (driverName: string) => ConnectionFailures
    readonly name: StepFailure
  }
  /** The questions about the driver's capabilities, in this order. */
  readonly questions: (driverName: string) => readonly Question[]
  /** The capabilities on which the selection of controllers depends. */
  readonly decisive: Decisive
  /** From where on calls count for the driver in metrics; before that they count under no name. */
  readonly namedFrom: 'name' | 'capabilities'
  /** The driver is asked for its name before it is probed. Left out: after that. */
  readonly nameFirst?: true
  /** Longest response of the driver in a log line. Left out: no limit. */
  readonly maxLogLength?: number
}

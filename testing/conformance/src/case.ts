/** One request. Exactly one of the bodies may be given; each sets its content type. */
export interface CaseStep {
  /** `POST /api/v1/persistentvolumes`. */
  readonly ask: string
  /** JSON. */
  readonly body?: unknown
  readonly merge?: unknown
  readonly strategic?: unknown
  readonly json?: unknown
  /** Sent as it is, with `type`. */
  readonly text?: string
  readonly type?: string
  readonly accept?: string
  /**
   * The sender of the request: a user without rights, a wrong token, or no token. The administrator if it is absent.
   */
  readonly as?: 'alice' | 'wrongToken' | 'anonymous'
  /** The permission is new; a real server may need a moment to see it. */
  readonly granted?: boolean
  /** The name under which later steps find the answer: `@name.metadata.uid` in any text. */
  readonly keep?: string
  /** The number of frames to read from a watch before it is closed. */
  readonly frames?: number
  /** Compares only these parts of the answer, dotted; the rest is incidental. */
  readonly only?: readonly string[]
}

/**
 * Requests that belong together, by the names of cases. They run in order, and the runner then removes the created
 * objects.
 */
export type Cases = Readonly<Record<string, readonly CaseStep[]>>

/** The answer, without the parts that differ from run to run. */
export interface CaseAnswer {
  readonly code: number
  readonly body: unknown
  readonly warnings?: readonly string[]
}

export interface RecordedAnswer {
  readonly title: string
  readonly asked: string
  readonly answer: CaseAnswer
}

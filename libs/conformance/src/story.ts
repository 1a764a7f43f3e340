/** One request. Exactly one of the bodies may be given; each sets its content type. */
export interface Step {
  /** `POST /api/v1/persistentvolumes`. */
  readonly ask: string
  /** JSON. */
  readonly body?: unknown
  readonly merge?: unknown
  readonly strategic?: unknown
  readonly json?: unknown
  readonly apply?: unknown
  /** Sent as it is, with `type`. */
  readonly text?: string
  readonly type?: string
  readonly accept?: string
  /** Whose token: the administrator's, a user's without any right, a wrong one, or none. */
  readonly as?: 'alice' | 'nobody' | 'anonymous'
  /** The right to do it was given a moment ago; a real server may need another one to hear of it. */
  readonly granted?: boolean
  /** The name under which later steps find the answer: `@name.metadata.uid` in any text. */
  readonly keep?: string
  /** Of a watch: so many frames are read, then it is left. */
  readonly frames?: number
  /** Looks also at who owns which fields, which only objects have here that were applied. */
  readonly managers?: boolean
  /** Looks only at these parts of the answer, dotted; the rest is incidental. */
  readonly only?: readonly string[]
}

/** Requests that belong together. They run in order, and what they create is removed afterwards. */
export interface ConformanceCase {
  readonly name: string
  readonly steps: readonly Step[]
}

/** What came back, without what differs from run to run. */
export interface Answer {
  readonly code: number
  readonly body: unknown
  readonly warnings?: readonly string[]
  readonly managers?: unknown
}

export interface RecordedAnswer {
  readonly story: string
  readonly asked: string
  readonly answer: Answer
}

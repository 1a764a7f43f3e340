/** One HTTP request of a sidecar, as the `Gate` recorded it. */
export interface WireRequest {
  readonly seq: number
  /** The wall time at which the request arrived. */
  readonly time: number
  readonly method: string
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  /**
   * The resource: `volumeattachments`, or with a subresource `volumeattachments/status`. Empty if the path has none.
   */
  readonly resource: string
  readonly namespace: string | undefined
  readonly name: string | undefined
  readonly watch: boolean
  readonly contentType: string | undefined
  readonly userAgent: string | undefined
  readonly authorization: string | undefined
  /** The header with the trace context, which becomes the parent of the API server's span. */
  readonly traceparent: string | undefined
  readonly bytes: Buffer
  /** The parsed body if it is JSON. Otherwise undefined. */
  readonly body: unknown
  /** The HTTP code of the answer. 0 before the answer, or if there is no answer. */
  code: number
  /** The wall time at which the answer ended. */
  end: number | undefined
}

/** A complete JSON answer in place of the API server's answer. The API server does not get the request. */
export interface AnswerFault {
  readonly kind: 'answer'
  readonly code: number
  readonly body: object
  readonly headers?: Record<string, string>
}

/** A fault that replaces, delays or drops the answer to a request. */
export type Fault =
  | AnswerFault
  /** Answers with these bytes. Then ends the answer, cuts the connection, or leaves the answer unfinished. */
  | {
      readonly kind: 'raw'
      readonly code: number
      readonly bytes: string | Buffer
      readonly headers?: Record<string, string>
      readonly ending?: 'end' | 'cut' | 'stay'
    }
  | { readonly kind: 'cut' }
  | { readonly kind: 'wait'; readonly for: Promise<unknown> }
  /** The server carries out the request, and its answer is lost. */
  | { readonly kind: 'loseAnswer' }

export type FaultRule = (request: WireRequest) => Fault | undefined

/** Observes the writes of a sidecar with their effects. */
export interface WriteObserver {
  /** Returns the object before a write, or undefined if there is none. */
  read(write: WireRequest): Promise<object | undefined>
  /** Gets the object before the write and the answer; undefined if a fault has answered. */
  answered(write: WireRequest, before: object | undefined, after: object | undefined): void
}

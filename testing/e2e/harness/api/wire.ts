/** One request of a sidecar on the wire. */
export interface WireRequest {
  readonly seq: number
  /** Wall time of its arrival. */
  readonly time: number
  readonly method: string
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  /** `volumeattachments`, or `volumeattachments/status` for a subresource; empty if the path is not a resource. */
  readonly resource: string
  readonly namespace: string | undefined
  readonly name: string | undefined
  readonly watch: boolean
  readonly contentType: string | undefined
  readonly userAgent: string | undefined
  readonly authorization: string | undefined
  /** The parent of the server's span. */
  readonly traceparent: string | undefined
  readonly bytes: Buffer
  /** Parsed when it is JSON. */
  readonly body: unknown
  /** 0 until the answer, and 0 without one. */
  code: number
  /** Wall time of the end of the answer. */
  end: number | undefined
}

export interface AnswerFault {
  readonly kind: 'answer'
  readonly code: number
  readonly body: object
  readonly headers?: Record<string, string>
}

/** A replacement or a delay of the answer to a request. */
export type Fault =
  | AnswerFault
  /** These bytes, followed by the end of the answer, the end of the connection, or neither. */
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

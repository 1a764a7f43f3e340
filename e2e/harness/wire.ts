/** One request of a sidecar as it went over the wire. */
export interface WireRequest {
  readonly seq: number
  /** Wall time of its arrival. */
  readonly time: number
  readonly method: string
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  /** `volumeattachments`, or `volumeattachments/status` for a part of one; empty for what is no resource. */
  readonly resource: string
  readonly namespace: string | undefined
  readonly name: string | undefined
  readonly watch: boolean
  readonly contentType: string | undefined
  readonly userAgent: string | undefined
  readonly authorization: string | undefined
  /** Where the server's part of a trace belongs. */
  readonly traceparent: string | undefined
  readonly bytes: Buffer
  /** Parsed when it is JSON. */
  readonly body: unknown
  /** 0 until it is answered, and for ever when it never was. */
  code: number
  /** Wall time when the answer had gone out. */
  end: number | undefined
}

/** What happens to a request instead of, or before, its way to the server. */
export type Fault =
  | { readonly kind: 'answer'; readonly code: number; readonly body: object; readonly headers?: Record<string, string> }
  /** These bytes, and then the end: of the answer, of the connection, or none. */
  | {
      readonly kind: 'raw'
      readonly code: number
      readonly bytes: string | Buffer
      readonly headers?: Record<string, string>
      readonly ending?: 'end' | 'cut' | 'stay'
    }
  | { readonly kind: 'cut' }
  | { readonly kind: 'wait'; readonly for: Promise<void> }
  /** The server does it, and nobody hears of it. */
  | { readonly kind: 'loseAnswer' }

export type FaultRule = (request: WireRequest) => Fault | undefined

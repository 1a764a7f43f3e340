/** The messages between the runner and the thread that serves the drivers. */

/** A protobuf message as JSON. Omits unset fields, and has enum values by name and 64-bit numbers as text. */
export type Plain = Readonly<Record<string, unknown>>

/** Replies that the thread sends without asking the runner, by the name of the RPC. */
export type ReadyReplies = Readonly<Record<string, object>>

/** The answer to one call. */
export type Answer =
  | { readonly reply: object }
  | { readonly code: number; readonly message: string; readonly retryInfo?: { readonly seconds: number } }

/** A call as the driver received it. `start` is a wall time in milliseconds. */
export interface ReceivedCall {
  readonly method: string
  readonly request: Plain
  readonly start: number
  /** The time from the start to the deadline. Infinity if the call has no deadline. */
  readonly timeoutMs: number
  readonly metadata: Readonly<Record<string, unknown>>
}

export type ToThread =
  | { readonly kind: 'open'; readonly driver: number; readonly socket: string; readonly ready: ReadyReplies }
  | { readonly kind: 'ready'; readonly driver: number; readonly ready: ReadyReplies }
  | { readonly kind: 'answer'; readonly call: number; readonly answer: Answer }
  | { readonly kind: 'kill'; readonly driver: number }

export type FromThread =
  | { readonly kind: 'opened'; readonly driver: number; readonly error: string | undefined }
  /** `isAnswered` is true if a ready reply answers the call. */
  | {
      readonly kind: 'call'
      readonly driver: number
      readonly call: number
      readonly received: ReceivedCall
      readonly isAnswered: boolean
    }
  | { readonly kind: 'cancelled'; readonly call: number; readonly at: number }

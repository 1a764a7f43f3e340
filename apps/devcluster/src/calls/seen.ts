/** One CSI call that has been answered. */
export interface SeenCall {
  readonly method: string
  readonly request: Readonly<Record<string, unknown>>
  /** The gRPC code. */
  readonly code: number
  readonly tookMs: number
}

/** Tells of CSI calls as they are answered; returns the undo. */
export type CallSource = (listener: (call: SeenCall) => void) => () => void

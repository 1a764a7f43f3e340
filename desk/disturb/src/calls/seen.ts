import { CODES } from '@csi-sidecars/csi'

/** One CSI call that has been answered. */
export interface ObservedCall {
  readonly method: string
  readonly request: Readonly<Record<string, unknown>>
  /** The gRPC code. */
  readonly code: number
  readonly tookMs: number
  /** The error message of the driver, if the source reports it. */
  readonly message?: string
}

/** Calls the listener for each answered CSI call. Returns a function that removes the listener. */
export type CallFeed = (listener: (call: ObservedCall) => void) => () => void

/** One CSI call. It is reported when it begins, and again with the same ID when it was answered. */
export interface LiveCall {
  readonly id: number
  readonly method: string
  readonly request: Readonly<Record<string, unknown>>
  readonly end: CallEnd | undefined
}

/** The end of a CSI call. */
export interface CallEnd extends Pick<ObservedCall, 'code' | 'tookMs' | 'message'> {
  /** The response of a successful call, if the source reports it. */
  readonly response: Readonly<Record<string, unknown>> | undefined
}

/** Calls the listener when a CSI call begins and when it was answered. Returns a function that removes the listener. */
export type LiveCalls = (listener: (call: LiveCall) => void) => () => void

const CODE_NAMES = Object.keys(CODES)

export function codeNameOf(code: number): string {
  return CODE_NAMES[code] ?? `code ${code}`
}

import { CODES } from '@csi-sidecars/csi'

/** One CSI call that has been answered. */
export interface SeenCall {
  readonly method: string
  readonly request: Readonly<Record<string, unknown>>
  /** The gRPC code. */
  readonly code: number
  readonly tookMs: number
  /** The driver's own words about a failure, where they are seen. */
  readonly message?: string
}

/** Tells of CSI calls as they are answered; returns the undo. */
export type CallSource = (listener: (call: SeenCall) => void) => () => void

const CODE_NAMES = Object.keys(CODES)

export function codeNameOf(code: number): string {
  return CODE_NAMES[code] ?? `code ${code}`
}

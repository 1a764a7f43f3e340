import { messageOf } from '@csi-sidecars/base'
import { classify, RpcError } from '@csi-sidecars/csi'
import { retryAfterOf } from '../claim/retry-after.ts'
import { SecretError } from '../claim/secret.ts'
import type { ModifyError } from './patches.ts'

/** The effect of a failed modification on the claim, its memory and the retry. */
export interface Failure {
  readonly message: string
  /** The error to write to the claim. Undefined if the error does not concern the volume. */
  readonly mark: ModifyError | undefined
  /** The modification may be running. */
  readonly uncertain: boolean
  /** The driver disconnected during a call and is awaited. */
  readonly driverLost: boolean
  /** True if an event is recorded though the claim says nothing. */
  readonly report: boolean
  /** When the driver has said to come back. */
  readonly retryAfterMs: number | undefined
}

/** Decided here only. */
export function failureOf(error: unknown, driverLost: boolean): Failure {
  const message = messageOf(error)
  if (!(error instanceof RpcError)) {
    const report = !(error instanceof SecretError && error.busy)
    return { message, mark: undefined, uncertain: false, driverLost: false, report, retryAfterMs: undefined }
  }
  const { final, infeasible } = classify(error)
  if (!final && driverLost) {
    return { message, mark: undefined, uncertain: true, driverLost, report: false, retryAfterMs: undefined }
  }
  const kind = infeasible.modify ? 'infeasible' : final ? 'final' : 'uncertain'
  const mark = { kind, reason: error.codeName, message: error.details } as const
  const retryAfterMs = retryAfterOf(error)
  return { message, mark, uncertain: !final, driverLost: false, report: true, retryAfterMs }
}

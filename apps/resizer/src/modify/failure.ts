import { messageOf } from '@csi-sidecars/base'
import { classify, RpcError } from '@csi-sidecars/csi'
import { retryAfterOf } from '../retry-after.ts'
import { SecretError } from '../secret.ts'
import type { ModifyError } from './patches.ts'

/** What a failed modification means for the claim, its memory and the retry. */
export interface Failure {
  readonly message: string
  /** What the claim is to say; undefined when the driver has said nothing about the volume. */
  readonly mark: ModifyError | undefined
  /** The modification may be running. */
  readonly uncertain: boolean
  /** The driver went away in mid-call and is awaited. */
  readonly driverLost: boolean
  /** Whether users are told though the claim says nothing. */
  readonly tell: boolean
  /** When the driver has said to come back. */
  readonly retryAfterMs: number | undefined
}

/** Decided here only. */
export function failureOf(error: unknown, driverLost: boolean): Failure {
  const message = messageOf(error)
  if (!(error instanceof RpcError)) {
    const tell = !(error instanceof SecretError && error.busy)
    return { message, mark: undefined, uncertain: false, driverLost: false, tell, retryAfterMs: undefined }
  }
  const { final, infeasible } = classify(error)
  if (!final && driverLost) {
    return { message, mark: undefined, uncertain: true, driverLost, tell: false, retryAfterMs: undefined }
  }
  const kind = infeasible.modify ? 'infeasible' : final ? 'final' : 'uncertain'
  const mark = { kind, reason: error.codeName, message: error.details } as const
  const retryAfterMs = retryAfterOf(error)
  return { message, mark, uncertain: !final, driverLost: false, tell: true, retryAfterMs }
}

import { status } from '@grpc/grpc-js'
import type { GrpcCodeName } from '../faults/call-faults.ts'
import { bytesField, varintField } from '../protobuf-write.ts'

/** The error that ends a call with a status code other than OK. */
export class DriverFailure extends Error {
  override readonly name = 'DriverFailure'
  readonly code: number
  readonly retryAfterMs: number | undefined

  constructor(code: GrpcCodeName | number, message: string, options: { retryAfterMs?: number | undefined } = {}) {
    super(message)
    this.code = typeof code === 'number' ? code : status[code]
    this.retryAfterMs = options.retryAfterMs
  }

  /** Returns the trailers of the answer. A retry delay becomes google.rpc.RetryInfo in its details. */
  toTrailers(): Readonly<Record<string, string>> {
    const trailers = { 'grpc-status': String(this.code), 'grpc-message': escaped(this.message) }
    if (this.retryAfterMs === undefined) return trailers
    const details = statusDetails(this.code, this.message, this.retryAfterMs)
    return { ...trailers, 'grpc-status-details-bin': details.toString('base64') }
  }
}

/** Escapes a message for a header as gRPC for Go does: percent signs and all bytes that are not printable ASCII. */
function escaped(message: string): string {
  return message.toWellFormed().replace(/[^ -~]+|%/g, encodeURIComponent)
}

export function invalidArgument(message: string): DriverFailure {
  return new DriverFailure('INVALID_ARGUMENT', message)
}

/** Encodes google.rpc.Status { code, message, details: [ Any { RetryInfo { retry_delay } } ] }. */
function statusDetails(code: number, message: string, retryAfterMs: number): Buffer {
  const seconds = Math.floor(retryAfterMs / 1000)
  const duration = Buffer.concat([varintField(1, seconds), varintField(2, Math.round((retryAfterMs % 1000) * 1e6))])
  const retryInfo = bytesField(1, duration)
  const any = Buffer.concat([
    bytesField(1, Buffer.from('type.googleapis.com/google.rpc.RetryInfo')),
    bytesField(2, retryInfo),
  ])
  return Buffer.concat([varintField(1, code), bytesField(2, Buffer.from(message)), bytesField(3, any)])
}

import { connect } from 'node:net'
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'
import { messageOf, systemCodeOf } from '@csi-sidecars/base'

/**
 * The origin of a gRPC status. `driver`: the driver has sent the status (the default). `client`: this client could not
 * read the answer. `session`: an answer to this or another call broke the connection. `none`: no answer came.
 */
export type Origin = 'driver' | 'client' | 'session' | 'none'

/** The facts about a failed call in addition to its code and message. */
export interface RpcErrorOptions {
  /** The pause before a retry. Default: the driver asks for none. */
  readonly retryAfterMs?: number | undefined
  readonly origin?: Origin
  readonly cause?: unknown
}

/** The codes of gRPC by their names in Go. Alerts of users match the names: `Canceled` has a single l. */
export const CODES = {
  OK: 0,
  Canceled: 1,
  Unknown: 2,
  InvalidArgument: 3,
  DeadlineExceeded: 4,
  NotFound: 5,
  AlreadyExists: 6,
  PermissionDenied: 7,
  ResourceExhausted: 8,
  FailedPrecondition: 9,
  Aborted: 10,
  OutOfRange: 11,
  Unimplemented: 12,
  Internal: 13,
  Unavailable: 14,
  DataLoss: 15,
  Unauthenticated: 16,
} as const

export type CodeName = keyof typeof CODES

const NAMES: readonly string[] = Object.keys(CODES)

/** Returns the name of a code as Go prints it: `Code(17)` for a number that gRPC does not define. */
export function codeNameOf(code: number): string {
  return NAMES[code] ?? `Code(${code})`
}

/** A call that ended with a gRPC status other than OK. The status comes from the driver or from this client. */
export class RpcError extends Error {
  override readonly name = 'RpcError'
  readonly code: number
  readonly codeName: string
  /** The error message of the status, usually from the driver. */
  readonly details: string
  /** The milliseconds that the driver asks to wait before a retry (google.rpc.RetryInfo). */
  readonly retryAfterMs?: number
  readonly origin: Origin

  constructor(code: number, details: string, { retryAfterMs, cause, origin = 'driver' }: RpcErrorOptions = {}) {
    const codeName = codeNameOf(code)
    super(`rpc error: code = ${codeName} desc = ${details}`, cause === undefined ? undefined : { cause })
    this.code = code
    this.codeName = codeName
    this.details = details
    this.origin = origin
    if (retryAfterMs !== undefined) this.retryAfterMs = retryAfterMs
  }
}

/** Returns the error of a call whose time-out is over. */
export function deadlineExceeded(cause?: unknown): RpcError {
  return new RpcError(CODES.DeadlineExceeded, 'context deadline exceeded', { cause, origin: 'none' })
}

/** Returns the error of a call that the caller has cancelled. */
export function canceled(cause: unknown): RpcError {
  return new RpcError(CODES.Canceled, 'context canceled', { cause, origin: 'none' })
}

/** Returns the error of a call without an answer, which may or may not have reached the driver. */
export function unavailable(details: string): RpcError {
  return new RpcError(CODES.Unavailable, details, { origin: 'none' })
}

/** The error if no connection was possible before the time-out. The message is copied from Go. */
export class ConnectError extends Error {
  override readonly name = 'ConnectError'
  /** The key-value pairs of the log line that reports the error. */
  readonly pairs: { readonly lastError: string }

  constructor(lastError: string, cause: unknown) {
    super('context deadline exceeded', { cause })
    this.pairs = { lastError }
  }
}

/** The error messages of Go for the error codes of Node. */
const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or directory',
  // Go reports only the first two words. Both causes look the same here, and the log of the driver shows neither.
  EACCES:
    'permission denied: the user of this process cannot write to the socket, or SELinux (avc: denied { connectto }) ' +
    'or another security module refuses',
  ECONNREFUSED: 'connection refused',
  ENOTDIR: 'not a directory',
  EPROTOTYPE: 'protocol wrong type for socket',
  ENAMETOOLONG: 'file name too long',
  EAGAIN: 'resource temporarily unavailable',
}

/** Returns why a socket refuses connections. Connects once more, because grpc-js does not report the reason. */
export function whyUnreachable(path: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(path)
    socket.once('error', (error) => resolve(connectFailure(error)))
    socket.once('connect', () => {
      socket.destroy()
      resolve('connected, but the other side does not speak gRPC')
    })
  })
}

/** Returns the text about a failed connection to a socket. */
export function connectFailure(error: unknown): string {
  const code = systemCodeOf(error)
  return `connect: ${(code !== undefined && REASONS[code]) || (code ?? messageOf(error))}`
}

/**
 * The functions below read the google.rpc.Status in the trailer grpc-status-details-bin of an error. They need no
 * generated code, because only RetryInfo is used.
 */

const RETRY_INFO = 'type.googleapis.com/google.rpc.RetryInfo'

/** Returns the retry delay in a google.rpc.Status, in milliseconds. Undefined if it is missing or damaged. */
export function retryDelayMs(status: Uint8Array): number | undefined {
  const delays = valuesOf(status, 3)
    .filter((any) => textOf(lastOf(any, 1)) === RETRY_INFO)
    .map((any) => lastOf(lastOf(any, 2), 1))
  const delay = delays.find((each) => each instanceof Uint8Array)
  return delay && durationMs(delay)
}

/** Returns the milliseconds of a google.protobuf.Duration, and 0 if it is negative. */
function durationMs(duration: Uint8Array): number {
  const seconds = BigInt.asIntN(64, numberOf(lastOf(duration, 1)))
  const nanos = BigInt.asIntN(32, numberOf(lastOf(duration, 2)))
  return Math.max(0, Number(seconds) * 1000 + Number(nanos) / 1e6)
}

type Value = bigint | Uint8Array

const numberOf = (value: Value | undefined): bigint => (typeof value === 'bigint' ? value : 0n)
const textOf = (value: Value | undefined): string =>
  value instanceof Uint8Array ? new TextDecoder().decode(value) : ''

function valuesOf(message: Uint8Array, number: number): readonly Value[] {
  return [...entriesOf(message)].flatMap(([field, value]) => (field === number ? [value] : []))
}

/** Returns the last value of a field, which is the valid value in protobuf. */
function lastOf(message: Value | undefined, number: number): Value | undefined {
  return message instanceof Uint8Array ? valuesOf(message, number).at(-1) : undefined
}

/** Yields the varints and byte strings of a message with their field numbers, up to the first damaged field. */
function* entriesOf(message: Uint8Array): Generator<readonly [number, Value]> {
  const reader = new BinaryReader(message)
  try {
    while (reader.pos < reader.len) {
      const [field, type] = reader.tag()
      if (type === WireType.Varint) yield [field, BigInt(reader.uint64())]
      else if (type === WireType.LengthDelimited) yield [field, reader.bytes()]
      else reader.skip(type, field)
    }
  } catch (error) {
    // Damaged bytes from the driver cause an error in the reader. The fields before the damage are kept.
    if (!(error instanceof Error)) throw error
  }
}

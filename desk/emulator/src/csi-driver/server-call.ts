import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import { type Cancel, type Clock, onAbort } from '@csi-sidecars/base'
import { DriverFailure } from './driver-failure.ts'

/** The headers at the start of each answer of a gRPC server. */
export const GRPC_HEADERS = { ':status': 200, 'content-type': 'application/grpc' } as const

/** The bytes before a message: whether it is compressed, and its length. */
const FRAME_HEADER_BYTES = 5
/** The milliseconds of each unit of the header grpc-timeout. */
const UNITS_MS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 }

/** The form of a method on the wire, as the generated code has it. */
export interface WireMethod {
  readonly path: string
  readonly requestDeserialize: (bytes: Buffer) => unknown
  readonly responseSerialize: (response: never) => Buffer
}

/** Returns a message in a gRPC frame. `compressed` is the byte that reports whether the message is compressed. */
export function framed(message: Uint8Array, compressed = 0): Buffer {
  const header = Buffer.alloc(FRAME_HEADER_BYTES)
  header.writeUInt8(compressed)
  header.writeUInt32BE(message.length, 1)
  return Buffer.concat([header, message])
}

/** Returns the message of a request, whose body is one frame. */
export function unframed(body: Buffer): Buffer {
  const isWhole = body.length >= FRAME_HEADER_BYTES && body.readUInt32BE(1) === body.length - FRAME_HEADER_BYTES
  if (!isWhole) throw new DriverFailure('INTERNAL', 'the request is not one whole message')
  if (body[0] !== 0) throw new DriverFailure('UNIMPLEMENTED', 'the server does not support compressed requests')
  return body.subarray(FRAME_HEADER_BYTES)
}

/** Ends a stream with a gRPC error, without a message. */
export function refuse(stream: ServerHttp2Stream, failure: DriverFailure): void {
  respond(stream, () => stream.respond({ ...GRPC_HEADERS, ...failure.toTrailers() }, { endStream: true }))
}

/**
 * One call of a client, which waits for an answer.
 *
 * Guarantees: only the first answer is sent. An answer to a client that has gone has no effect. The server never answers
 * at the deadline, because the client ends the call then.
 */
export class ServerCall {
  /** The time from the start of the call to its deadline. Undefined if the call has no deadline. */
  readonly timeoutMs: number | undefined
  /** The headers of the client, such as `traceparent`. */
  readonly headers: IncomingHttpHeaders
  readonly request: object
  readonly #stream: ServerHttp2Stream
  readonly #method: WireMethod
  readonly #abandoned = new AbortController()
  #isAnswered = false

  constructor(
    { stream, headers, body }: { stream: ServerHttp2Stream; headers: IncomingHttpHeaders; body: Buffer },
    method: WireMethod,
    clock: Clock,
  ) {
    this.#stream = stream
    this.headers = headers
    this.timeoutMs = timeoutMsOf(headers)
    this.request = requestOf(method, body)
    this.#method = method
    const cancel = this.#scheduleDeadline(clock)
    stream.once('close', () => {
      cancel()
      this.#abandon()
    })
  }

  /** Calls the listener if the deadline passes, the client gives up or the connection breaks before the answer. */
  onAbandoned(listener: () => void): void {
    onAbort(this.#abandoned.signal, listener)
  }

  reply(response: object): void {
    try {
      this.#succeed(framed(this.#method.responseSerialize(response as never)))
    } catch (error) {
      this.fail(new DriverFailure('INTERNAL', `the response is not valid: ${error}`))
    }
  }

  fail(failure: DriverFailure): void {
    this.#answer(() => refuse(this.#stream, failure))
  }

  /** Gives the stream to a function that answers in any way. */
  answerRaw(answer: (stream: ServerHttp2Stream) => void): void {
    this.#answer(() => answer(this.#stream))
  }

  #succeed(frame: Buffer): void {
    const stream = this.#stream
    this.#answer(() => {
      stream.respond(GRPC_HEADERS, { waitForTrailers: true })
      stream.once('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
      stream.end(frame)
    })
  }

  #answer(send: () => void): void {
    if (this.#isAnswered) return
    this.#isAnswered = true
    respond(this.#stream, send)
  }

  #abandon(): void {
    if (!this.#isAnswered) this.#abandoned.abort()
  }

  #scheduleDeadline(clock: Clock): Cancel {
    return this.timeoutMs === undefined ? () => undefined : clock.schedule(this.timeoutMs, () => this.#abandon())
  }
}

/** Answers unless the client has gone. */
function respond(stream: ServerHttp2Stream, send: () => void): void {
  if (!stream.closed && !stream.destroyed) send()
}

function requestOf(method: WireMethod, body: Buffer): object {
  const message = unframed(body)
  try {
    return method.requestDeserialize(message) as object
  } catch (cause) {
    throw new DriverFailure('INTERNAL', `the request is not valid: ${cause}`)
  }
}

function timeoutMsOf(headers: IncomingHttpHeaders): number | undefined {
  const [, amount, unit = ''] = /^(\d{1,8})([HMSmun])$/.exec(String(headers['grpc-timeout'])) ?? []
  return amount === undefined ? undefined : Number(amount) * (UNITS_MS[unit] ?? 0)
}

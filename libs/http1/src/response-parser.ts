import { NO_HTTP_1 } from './network-error.ts'

/** The status line and the headers of an answer. */
export interface ResponseHead {
  readonly status: number
  /** Returns the first value of a header, or undefined if it is missing. The name must be in lower case. */
  header(name: string): string | undefined
}

/** Receives the parts of a response: one head, then any number of chunks, then one end. */
export interface ResponseSink {
  head(head: ResponseHead): void
  data(bytes: Buffer): void
  end(): void
}

/** The error of bytes that are not an HTTP/1.1 response. The connection cannot be used again. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError'
}

const HEAD_END = Buffer.from('\r\n\r\n')
const CARRIAGE_RETURN = 13
const LINE_FEED = 10
const NOTHING: Buffer = Buffer.alloc(0)
const MAX_HEAD_BYTES = 64 * 1024
const MAX_CHUNK_LINE_BYTES = 1024

type State =
  | { readonly kind: 'idle' }
  | { readonly kind: 'head' }
  | { readonly kind: 'body'; remainingBytes: number }
  | { readonly kind: 'bodyUntilClose' }
  | { readonly kind: 'chunkSize' }
  | { readonly kind: 'chunk'; remainingBytes: number }
  | { readonly kind: 'chunkEnd' }
  | { readonly kind: 'trailers' }

const CHUNK_SIZE: State = { kind: 'chunkSize' }
const CHUNK_END: State = { kind: 'chunkEnd' }
const TRAILERS: State = { kind: 'trailers' }

/**
 * Reads responses to GET, POST, PUT, PATCH and DELETE from the bytes of one connection, one after the other. Throws a
 * ProtocolError for bytes that HTTP/1.1 does not allow.
 */
export class ResponseParser {
  #state: State = { kind: 'idle' }
  #sink: ResponseSink | undefined
  /** The bytes of the last push. `#at` is a position in them. */
  #bytes = NOTHING
  #position = 0
  /** The bytes of an incomplete head or line. The bytes of bodies are passed on at once. */
  #partial: Buffer | undefined
  #keepAlive = true

  /** True if another response may follow on this connection. */
  get keepAlive(): boolean {
    return this.#keepAlive && this.#state.kind === 'idle'
  }

  /** Prepares for the next response, which `sink` receives. */
  expect(sink: ResponseSink): void {
    this.#sink = sink
    this.#state = { kind: 'head' }
  }

  /** Reads bytes of the connection. Must not be called after a ProtocolError. */
  push(bytes: Buffer): void {
    this.#bytes = this.#partial === undefined ? bytes : Buffer.concat([this.#partial, bytes])
    this.#partial = undefined
    this.#position = 0
    while (this.#position < this.#bytes.length && this.#step()) {}
    this.#bytes = NOTHING
  }

  /** Called at the end of the connection. Returns whether the end completes the response. */
  close(): boolean {
    this.#keepAlive = false
    if (this.#state.kind !== 'bodyUntilClose') return false
    this.#end()
    return true
  }

  /** Reads one part of the response. Returns false, and keeps the bytes, if the part is incomplete. */
  #step(): boolean {
    const state = this.#state
    switch (state.kind) {
      case 'idle':
        this.#keepAlive = false
        throw new ProtocolError(isHttp2(this.#bytes, this.#position) ? NO_HTTP_1 : 'unsolicited response')
      case 'head':
        return this.#readHead()
      case 'body':
      case 'chunk':
        return this.#readCounted(state)
      case 'bodyUntilClose':
        this.#sink?.data(this.#takeUntil(this.#bytes.length))
        return true
      case 'chunkSize':
        return this.#readChunkSize()
      case 'chunkEnd':
      case 'trailers':
        return this.#readLine(state.kind)
    }
  }

  #readHead(): boolean {
    const end = this.#bytes.indexOf(HEAD_END, this.#position)
    if (end < 0) {
      if (isHttp2(this.#bytes, this.#position)) throw new ProtocolError(NO_HTTP_1)
      return this.#keepPartial(MAX_HEAD_BYTES)
    }
    const head = parseHead(this.#bytes.toString('latin1', this.#position, end))
    this.#position = end + HEAD_END.length
    // Skips 100 Continue and other interim responses.
    if (head.status < 200) return true
    this.#keepAlive = head.keepAlive
    this.#state = bodyState(head)
    this.#sink?.head(head)
    if (this.#state.kind === 'body' && this.#state.remainingBytes === 0) this.#end()
    return true
  }

  #readCounted(state: State & { kind: 'body' | 'chunk' }): boolean {
    const data = this.#takeUntil(Math.min(this.#position + state.remainingBytes, this.#bytes.length))
    state.remainingBytes -= data.length
    this.#sink?.data(data)
    if (state.remainingBytes > 0) return true
    if (state.kind === 'body') this.#end()
    else this.#state = CHUNK_END
    return true
  }

  /** Reads the hexadecimal size of a chunk. Creates no string for it, because each event of a watch is a chunk. */
  #readChunkSize(): boolean {
    const bytes = this.#bytes
    let size = 0
    let at = this.#position
    for (let digit = hexDigit(bytes[at]); digit >= 0; digit = hexDigit(bytes[at])) {
      size = size * 16 + digit
      at += 1
    }
    const digits = at - this.#position
    const end = bytes[at] === CARRIAGE_RETURN ? at + 1 : bytes.indexOf(LINE_FEED, at)
    if (end < 0 || end >= bytes.length) return this.#keepPartial(MAX_CHUNK_LINE_BYTES)
    const extension = bytes.toString('latin1', at, end + 1)
    if (digits === 0 || digits > MAX_CHUNK_SIZE_DIGITS || !CHUNK_EXTENSION.test(extension)) throw malformedChunks()
    this.#position = end + 1
    this.#state = size === 0 ? TRAILERS : { kind: 'chunk', remainingBytes: size }
    return true
  }

  #readLine(at: 'chunkEnd' | 'trailers'): boolean {
    const end = this.#bytes.indexOf(LINE_FEED, this.#position)
    if (end < 0) return this.#keepPartial(MAX_CHUNK_LINE_BYTES)
    const length = end - 1 - this.#position
    if (length < 0 || this.#bytes[end - 1] !== CARRIAGE_RETURN) throw malformedChunks()
    this.#position = end + 1
    if (at === 'chunkEnd') {
      if (length > 0) throw malformedChunks()
      this.#state = CHUNK_SIZE
    } else if (length === 0) {
      this.#end()
    }
    return true
  }

  /** Returns the bytes up to `end`, and moves the position there. */
  #takeUntil(end: number): Buffer {
    const part = this.#bytes.subarray(this.#position, end)
    this.#position = end
    return part
  }

  #keepPartial(maxBytes: number): false {
    const rest = this.#bytes.subarray(this.#position)
    if (rest.length > maxBytes) throw new ProtocolError('response header is too long')
    this.#partial = rest
    return false
  }

  #end(): void {
    if (this.#position < this.#bytes.length) this.#keepAlive = false
    this.#state = { kind: 'idle' }
    const sink = this.#sink
    this.#sink = undefined
    sink?.end()
  }
}

/** The offset of the type in an HTTP/2 frame, after the three bytes of the length. */
const FRAME_TYPE_OFFSET = 3
const SETTINGS = 4
const GOAWAY = 7
/** The maximum length of the first HTTP/2 frame of a server. */
const MAX_FIRST_FRAME_BYTES = 16_384

/** Reports whether bytes begin with the first HTTP/2 frame of a server: SETTINGS or GOAWAY. */
function isHttp2(bytes: Buffer, at: number): boolean {
  const type = bytes[at + FRAME_TYPE_OFFSET]
  return (type === SETTINGS || type === GOAWAY) && bytes.readUIntBE(at, FRAME_TYPE_OFFSET) <= MAX_FIRST_FRAME_BYTES
}

interface ParsedHead extends ResponseHead {
  readonly keepAlive: boolean
}

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d{2})(?: [^\r\n]*)?(?=\r\n|$)/

function parseHead(text: string): ParsedHead {
  const match = STATUS_LINE.exec(text)
  // The message does not quote the text, because it may be a body with a secret.
  if (match === null) throw new ProtocolError('malformed HTTP response')
  const header = (name: string): string | undefined => headerIn(text, name)
  const connection = header('connection')?.toLowerCase()
  const keepAlive = match[1] === '1' ? connection !== 'close' : connection === 'keep-alive'
  return { status: Number(match[2]), header, keepAlive }
}

const HEADER_PATTERNS = new Map<string, RegExp>()

function headerIn(head: string, name: string): string | undefined {
  let pattern = HEADER_PATTERNS.get(name)
  if (pattern === undefined) {
    // regex-bounded: the expression searches the head of a response, which has at most 64 KiB
    pattern = new RegExp(`\\r\\n${name}:[ \\t]*([^\\r\\n]*)`, 'i')
    HEADER_PATTERNS.set(name, pattern)
  }
  return pattern.exec(head)?.[1]?.trimEnd()
}

function bodyState(head: ParsedHead): State {
  if (head.status === 204 || head.status === 304) return { kind: 'body', remainingBytes: 0 }
  const coding = head.header('transfer-encoding')
  if (coding !== undefined) {
    if (coding.toLowerCase() !== 'chunked') throw new ProtocolError(`unsupported transfer encoding "${coding}"`)
    return CHUNK_SIZE
  }
  const length = head.header('content-length')
  if (length === undefined) return { kind: 'bodyUntilClose' }
  if (!/^\d{1,15}$/.test(length)) throw new ProtocolError(`bad Content-Length "${length}"`)
  return { kind: 'body', remainingBytes: Number(length) }
}

const MAX_CHUNK_SIZE_DIGITS = 12
const CHUNK_EXTENSION = /^[ \t]*(?:;[^\n]*)?\r\n$/

/** Returns the value of a hexadecimal digit, or -1 for any other byte. */
function hexDigit(byte: number | undefined): number {
  if (byte === undefined) return -1
  if (byte >= 48 && byte <= 57) return byte - 48
  const letter = byte | 32
  return letter >= 97 && letter <= 102 ? letter - 87 : -1
}

function malformedChunks(): ProtocolError {
  return new ProtocolError('malformed chunked encoding')
}

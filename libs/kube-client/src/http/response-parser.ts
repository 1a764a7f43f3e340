/** Something that is no HTTP/1.1 response. The connection it came on cannot be used any more. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError'
}

export interface ResponseHead {
  readonly status: number
  /** The first value of a header, undefined when it is not there. Ask with the lower-case name. */
  header(name: string): string | undefined
}

/** Where a response goes, in order: one head, any number of data, one end. */
export interface ResponseSink {
  head(head: ResponseHead): void
  data(bytes: Buffer): void
  end(): void
}

const HEAD_END = Buffer.from('\r\n\r\n')
const LINE_FEED = 10
const LONGEST_HEAD = 64 * 1024
const LONGEST_CHUNK_LINE = 1024

type State =
  | { readonly at: 'idle' }
  | { readonly at: 'head' }
  | { readonly at: 'body'; left: number }
  | { readonly at: 'bodyUntilClose' }
  | { readonly at: 'chunkSize' }
  | { readonly at: 'chunk'; left: number }
  | { readonly at: 'chunkEnd' }
  | { readonly at: 'trailers' }

/**
 * Reads responses to GET, POST, PUT, PATCH and DELETE from the bytes of one connection, one after the other.
 * Strict: what HTTP/1.1 does not allow is a ProtocolError, never a guess.
 */
export class ResponseParser {
  #state: State = { at: 'idle' }
  #sink: ResponseSink | undefined
  /** Bytes of a head or line that is not complete yet. Bodies are passed on as they come. */
  #partial: Buffer | undefined
  #keepAlive = true

  /** Whether another response may follow on this connection. */
  get keepAlive(): boolean {
    return this.#keepAlive && this.#state.at === 'idle'
  }

  /** Expects one more response, for `sink`. */
  expect(sink: ResponseSink): void {
    this.#sink = sink
    this.#state = { at: 'head' }
  }

  /** Takes what the connection gave. Throws ProtocolError; nothing more may be pushed then. */
  push(bytes: Buffer): void {
    let rest: Buffer | undefined = bytes
    if (this.#partial !== undefined) {
      rest = Buffer.concat([this.#partial, bytes])
      this.#partial = undefined
    }
    while (rest !== undefined && rest.length > 0) rest = this.#step(rest)
  }

  /** The connection gave its last byte. Returns whether that ended the response in good order. */
  close(): boolean {
    this.#keepAlive = false
    if (this.#state.at !== 'bodyUntilClose') return false
    this.#end()
    return true
  }

  /** Consumes the front of `bytes` and returns what is left; undefined when more is needed. */
  #step(bytes: Buffer): Buffer | undefined {
    const state = this.#state
    switch (state.at) {
      case 'idle':
        this.#keepAlive = false
        throw new ProtocolError('unsolicited response')
      case 'head':
        return this.#readHead(bytes)
      case 'body':
        return this.#readCounted(bytes, state)
      case 'bodyUntilClose':
        this.#sink?.data(bytes)
        return undefined
      case 'chunk':
        return this.#readCounted(bytes, state)
      case 'chunkSize':
      case 'chunkEnd':
      case 'trailers':
        return this.#readLine(bytes, state.at)
    }
  }

  #readHead(bytes: Buffer): Buffer | undefined {
    const length = bytes.indexOf(HEAD_END)
    if (length < 0) return this.#keep(bytes, LONGEST_HEAD)
    const head = parseHead(bytes.toString('latin1', 0, length))
    const rest = bytes.subarray(length + HEAD_END.length)
    // 100 Continue and its like announce nothing that matters here.
    if (head.status < 200) return rest
    this.#keepAlive = head.keepAlive
    this.#state = bodyState(head)
    this.#sink?.head(head)
    if (this.#state.at === 'body' && this.#state.left === 0) this.#end(rest)
    return rest
  }

  #readCounted(bytes: Buffer, state: State & { at: 'body' | 'chunk' }): Buffer {
    const data = bytes.length <= state.left ? bytes : bytes.subarray(0, state.left)
    const rest = bytes.subarray(data.length)
    state.left -= data.length
    this.#sink?.data(data)
    if (state.left === 0) {
      if (state.at === 'body') this.#end(rest)
      else this.#state = { at: 'chunkEnd' }
    }
    return rest
  }

  #readLine(bytes: Buffer, at: 'chunkSize' | 'chunkEnd' | 'trailers'): Buffer | undefined {
    const end = bytes.indexOf(LINE_FEED)
    if (end < 0) return this.#keep(bytes, LONGEST_CHUNK_LINE)
    if (bytes[end - 1] !== 13) throw new ProtocolError('malformed chunked encoding')
    const line = bytes.toString('latin1', 0, end - 1)
    const rest = bytes.subarray(end + 1)
    if (at === 'chunkSize') {
      const size = chunkSize(line)
      this.#state = size === 0 ? { at: 'trailers' } : { at: 'chunk', left: size }
    } else if (at === 'chunkEnd') {
      if (line !== '') throw new ProtocolError('malformed chunked encoding')
      this.#state = { at: 'chunkSize' }
    } else if (line === '') {
      this.#end(rest)
    }
    return rest
  }

  #keep(bytes: Buffer, longest: number): undefined {
    if (bytes.length > longest) throw new ProtocolError('response header is too long')
    this.#partial = bytes
    return undefined
  }

  #end(rest?: Buffer): void {
    if (rest !== undefined && rest.length > 0) this.#keepAlive = false
    this.#state = { at: 'idle' }
    const sink = this.#sink
    this.#sink = undefined
    sink?.end()
  }
}

interface ParsedHead extends ResponseHead {
  readonly keepAlive: boolean
}

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d{2})(?: [^\r\n]*)?(?=\r\n|$)/

function parseHead(text: string): ParsedHead {
  const match = STATUS_LINE.exec(text)
  if (match === null) throw new ProtocolError(`malformed HTTP response ${JSON.stringify(text.slice(0, 80))}`)
  const header = (name: string): string | undefined => headerIn(text, name)
  const connection = header('connection')?.toLowerCase()
  const keepAlive = match[1] === '1' ? connection !== 'close' : connection === 'keep-alive'
  return { status: Number(match[2]), header, keepAlive }
}

const HEADER_PATTERNS = new Map<string, RegExp>()

function headerIn(head: string, name: string): string | undefined {
  let pattern = HEADER_PATTERNS.get(name)
  if (pattern === undefined) {
    pattern = new RegExp(`\\r\\n${name}:[ \\t]*([^\\r\\n]*)`, 'i')
    HEADER_PATTERNS.set(name, pattern)
  }
  return pattern.exec(head)?.[1]?.trimEnd()
}

function bodyState(head: ParsedHead): State {
  if (head.status === 204 || head.status === 304) return { at: 'body', left: 0 }
  const coding = head.header('transfer-encoding')
  if (coding !== undefined) {
    if (coding.toLowerCase() !== 'chunked') throw new ProtocolError(`unsupported transfer encoding "${coding}"`)
    return { at: 'chunkSize' }
  }
  const length = head.header('content-length')
  if (length === undefined) return { at: 'bodyUntilClose' }
  if (!/^\d{1,15}$/.test(length)) throw new ProtocolError(`bad Content-Length "${length}"`)
  return { at: 'body', left: Number(length) }
}

function chunkSize(line: string): number {
  const match = /^([0-9a-fA-F]{1,12})[ \t]*(?:;.*)?$/.exec(line)
  if (match === null) throw new ProtocolError('malformed chunked encoding')
  return Number.parseInt(match[1] ?? '', 16)
}

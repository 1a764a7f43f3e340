import http from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import { readProtobuf } from './otlp-read-protobuf.ts'
import { checkSpan, ProtocolError, type ReceivedSpan } from './otlp-span.ts'

/** An HTTP answer that a test sets in place of the normal answer of the receiver. */
export interface OtlpAnswer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

/** The address of a collector. It serves plain HTTP unless `tls` is set. */
export interface OtlpReceiverOptions {
  /** Default: a free port. */
  readonly port?: number
  /** Default: `/v1/traces`. */
  readonly path?: string
  /** If `ca` is set, clients must present a certificate that it has signed. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca?: string }
}

const PROTOBUF = 'application/x-protobuf'

/** A collector of traces that accepts valid requests in protobuf and refuses all others with 400. */
export class OtlpReceiver {
  readonly spans: ReceivedSpan[] = []
  readonly requests: http.IncomingHttpHeaders[] = []
  /** The bodies of all requests, as they were sent. */
  readonly bodies: Buffer[] = []
  connections = 0
  /** The reasons for which requests were refused. */
  readonly refusals: string[] = []
  /** Returns the answer to each request. Undefined means the normal answer, and `hang` means no answer. */
  answer: (() => OtlpAnswer | 'hang' | undefined) | undefined
  readonly #server: http.Server
  readonly #options: OtlpReceiverOptions

  constructor(options: OtlpReceiverOptions = {}) {
    this.#options = options
    const { tls } = options
    this.#server =
      tls === undefined
        ? http.createServer()
        : https.createServer({ ...tls, requestCert: tls.ca !== undefined, rejectUnauthorized: tls.ca !== undefined })
    this.#server.on('connection', () => {
      this.connections += 1
    })
    this.#server.on('request', (request, response) => void this.#serve(request, response))
  }

  async open(): Promise<this> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#server.once('error', reject).listen(this.#options.port ?? 0, '127.0.0.1', resolve)
    await promise
    return this
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get url(): string {
    return `${this.#options.tls === undefined ? 'http' : 'https'}://127.0.0.1:${this.port}`
  }

  async close(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#server.close(() => resolve())
    this.#server.closeAllConnections()
    await promise
  }

  async #serve(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    this.requests.push(request.headers)
    const body = await buffer(request)
    this.bodies.push(body)
    const answer = this.answer?.()
    if (answer === 'hang') return
    const { status, headers = {}, body: answerBody = '' } = answer ?? this.#receive(request, body)
    response.writeHead(status, headers).end(answerBody)
  }

  #receive({ method, url, headers }: http.IncomingMessage, body: Buffer): OtlpAnswer {
    try {
      if (method !== 'POST') throw new ProtocolError(`${method} instead of POST`)
      const path = this.#options.path ?? '/v1/traces'
      if (url?.split('?')[0] !== path) throw new ProtocolError(`${url} instead of ${path}`)
      if (headers['content-type'] !== PROTOBUF) throw new ProtocolError(`content-type ${headers['content-type']}`)
      const spans = readProtobuf(unpacked(headers['content-encoding'], body))
      if (spans.length === 0) throw new ProtocolError('a request without spans')
      const spanIds = new Set(this.spans.map(({ spanId }) => spanId))
      for (const span of spans) {
        checkSpan(span)
        if (spanIds.has(span.spanId)) throw new ProtocolError(`a span twice: ${span.name}`)
        spanIds.add(span.spanId)
      }
      this.spans.push(...spans)
      return { status: 200, headers: { 'content-type': PROTOBUF } }
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      this.refusals.push(why)
      return { status: 400, body: why }
    }
  }
}

function unpacked(encoding: string | undefined, body: Buffer): Buffer {
  if (encoding === undefined) return body
  if (encoding !== 'gzip') throw new ProtocolError(`content-encoding ${encoding}`)
  return gunzipSync(body)
}

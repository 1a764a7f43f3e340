import http from 'node:http'
import https from 'node:https'
import { gzipSync } from 'node:zlib'
import { BinaryReader } from '@bufbuild/protobuf/wire'
import { messageOf, onAbort } from '@csi-sidecars/base'
import { type SpanBatch, toJson, toProtobuf } from './otlp-json.ts'
import type { Encoding, ExportSettings } from './settings.ts'

/** The result of one export request. */
export type Delivery =
  /** The collector has accepted the request. It has rejected some of the spans if `rejected` is not 0. */
  | { readonly kind: 'delivered'; readonly rejected: number; readonly why: string }
  /** The request may be sent again. `afterMs` is set if the collector asks for a delay. */
  | { readonly kind: 'later'; readonly why: string; readonly afterMs: number | undefined }
  | { readonly kind: 'refused'; readonly why: string }

const CONTENT_TYPES: Readonly<Record<Encoding, string>> = {
  protobuf: 'application/x-protobuf',
  json: 'application/json',
}
/** The status codes after which OTLP allows a retry. */
const RETRYABLE = new Set([429, 502, 503, 504])
/** The maximum number of bytes of an answer. A longer answer is an error. */
const MAX_ANSWER_BYTES = 64 * 1024

/** Sends spans to one collector, over one persistent connection. Ignores the proxy settings of the environment. */
export class OtlpClient {
  readonly #settings: ExportSettings
  readonly #agent: http.Agent

  constructor(settings: ExportSettings) {
    this.#settings = settings
    const options = { keepAlive: true, maxSockets: 1 }
    this.#agent =
      settings.url.protocol === 'https:' ? new https.Agent({ ...options, ...settings.tls }) : new http.Agent(options)
  }

  /** Sends one batch of spans. The promise never rejects: a failure is a result of the kind `later` or `refused`. */
  async send(batch: SpanBatch, signal: AbortSignal): Promise<Delivery> {
    let body: Buffer
    try {
      body = this.#encoded(batch)
    } catch (error) {
      return { kind: 'refused', why: messageOf(error) }
    }
    try {
      return deliveryOf(await this.#post(body, signal), this.#settings.encoding)
    } catch (error) {
      return { kind: 'later', why: messageOf(error), afterMs: undefined }
    }
  }

  close(): void {
    this.#agent.destroy()
  }

  #encoded(batch: SpanBatch): Buffer {
    const { encoding, gzip } = this.#settings
    const plain = encoding === 'json' ? toJson(batch) : toProtobuf(batch)
    return gzip ? gzipSync(plain) : plain
  }

  #post(body: Buffer, signal: AbortSignal): Promise<Answer> {
    const { url, headers, encoding, gzip } = this.#settings
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    const { request } = url.protocol === 'https:' ? https : http
    const sent = request(url, {
      method: 'POST',
      agent: this.#agent,
      headers: {
        ...headers,
        'content-type': CONTENT_TYPES[encoding],
        'content-length': body.length,
        ...(gzip && { 'content-encoding': 'gzip' }),
      },
    })
    if (signal.aborted) sent.destroy(signal.reason)
    const removeAbortListener = onAbort(signal, () => sent.destroy(signal.reason))
    sent.on('error', reject)
    sent.on('response', (response) => {
      const chunks: Buffer[] = []
      let length = 0
      response.on('data', (part: Buffer) => {
        length += part.length
        if (length > MAX_ANSWER_BYTES) sent.destroy(new Error('the answer is too long'))
        else chunks.push(part)
      })
      response.on('error', reject)
      response.on('end', () => {
        const { statusCode: status = 0, headers: got } = response
        resolve({ status, retryAfter: got['retry-after'], body: Buffer.concat(chunks) })
      })
    })
    sent.end(body)
    return promise.finally(removeAbortListener)
  }
}

interface Answer {
  readonly status: number
  readonly retryAfter: string | undefined
  readonly body: Buffer
}

function deliveryOf({ status, retryAfter, body }: Answer, encoding: Encoding): Delivery {
  if (status >= 200 && status < 300) return { kind: 'delivered', ...rejectedOf(body, encoding) }
  const why = `HTTP ${status}`
  if (!RETRYABLE.has(status)) return { kind: 'refused', why }
  const seconds = /^\d{1,6}$/.test(retryAfter ?? '') ? Number(retryAfter) : undefined
  return { kind: 'later', why, afterMs: seconds === undefined ? undefined : seconds * 1000 }
}

interface Rejected {
  readonly rejected: number
  readonly why: string
}

/** The fields of an answer, whose types are not checked yet. */
interface PartialSuccess {
  rejected: unknown
  why: unknown
}

const NONE: Rejected = { rejected: 0, why: '' }
/** The maximum length of a collector's error message. */
const MAX_MESSAGE_LENGTH = 1000

/** Returns the number of rejected spans in an ExportTraceServiceResponse, or 0 if the response is unreadable. */
function rejectedOf(body: Buffer, encoding: Encoding): Rejected {
  if (body.length === 0) return NONE
  try {
    const { rejected, why } = encoding === 'json' ? readJson(body) : readProtobuf(body)
    const count = Number(rejected)
    return Number.isSafeInteger(count) && count > 0
      ? { rejected: count, why: String(why).slice(0, MAX_MESSAGE_LENGTH) }
      : NONE
  } catch {
    return NONE
  }
}

function readJson(body: Buffer): PartialSuccess {
  const { partialSuccess } = JSON.parse(body.toString()) as { partialSuccess?: Readonly<Record<string, unknown>> }
  const { rejectedSpans, errorMessage = '' } = partialSuccess ?? {}
  return { rejected: rejectedSpans, why: errorMessage }
}

function readProtobuf(body: Uint8Array): PartialSuccess {
  const answer: PartialSuccess = { rejected: 0, why: '' }
  const reader = new BinaryReader(body)
  while (reader.pos < reader.len) {
    const [field, wire] = reader.tag()
    if (field === 1) readPartialSuccess(new BinaryReader(reader.bytes()), answer)
    else reader.skip(wire)
  }
  return answer
}

function readPartialSuccess(reader: BinaryReader, answer: PartialSuccess): void {
  while (reader.pos < reader.len) {
    const [field, wire] = reader.tag()
    if (field === 1) answer.rejected = reader.int64()
    else if (field === 2) answer.why = reader.string()
    else reader.skip(wire)
  }
}

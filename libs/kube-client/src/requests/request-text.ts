import type { ApiRequest } from '../api/client.ts'
import type { Authorization, ClusterConfig } from '../config/cluster-config.ts'

const JSON_TYPE = 'application/json'
const VISIBLE = /^[\x21-\x7e]+$/
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\uffff]*$/

/** The headers that differ between requests. */
export interface RequestHeaders {
  readonly authorization: Authorization
  readonly traceparent?: string | undefined
}

/** Writes requests as the bytes that are sent. The common headers are built once. */
export class RequestWriter {
  readonly #basePath: string
  readonly #common: string
  #authorization: Authorization
  #headers: string

  constructor(config: ClusterConfig, userAgent: string) {
    this.#basePath = config.basePath
    this.#common =
      header('Host', new URL(config.origin).host) +
      header('User-Agent', userAgent) +
      config.headers.map(([name, value]) => header(name, value)).join('')
    this.#headers = this.#common
  }

  write(request: ApiRequest, { authorization, traceparent }: RequestHeaders): string {
    const { method, path, body, accept = JSON_TYPE } = request
    if (!VISIBLE.test(path)) throw new Error(`invalid request path ${JSON.stringify(path)}`)
    const trace = traceparent === undefined ? '' : header('traceparent', traceparent)
    const headers = `${this.#headersWith(authorization)}Accept: ${accept}\r\n${trace}`
    const start = `${method} ${this.#basePath}${path} HTTP/1.1\r\n${headers}`
    if (body === undefined) return method === 'GET' ? `${start}\r\n` : `${start}Content-Length: 0\r\n\r\n`
    const length = Buffer.byteLength(body.text)
    return `${start}Content-Type: ${body.type}\r\nContent-Length: ${length}\r\n\r\n${body.text}`
  }

  #headersWith(authorization: Authorization): string {
    if (authorization !== this.#authorization) {
      this.#authorization = authorization
      this.#headers = authorization === undefined ? this.#common : this.#common + header('Authorization', authorization)
    }
    return this.#headers
  }
}

/** Returns a header line. Throws if the value has a line break: it may be a token from a file of another process. */
function header(name: string, value: string): string {
  if (!HEADER_VALUE.test(value)) throw new Error(`net/http: invalid header field value for "${name}"`)
  return `${name}: ${value}\r\n`
}

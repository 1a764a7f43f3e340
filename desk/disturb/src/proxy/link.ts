import {
  type ClientHttp2Session,
  connect as connectHttp2,
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import type { Socket } from 'node:net'
import { onAbort } from '@csi-sidecars/base'
import type { ProxyAnswer } from './call.ts'

/** A call of a client, with functions to forward it to the driver and to answer it. */
export interface PassingCall {
  readonly path: string
  readonly body: Buffer
  /** Aborted when the caller has cancelled the call. */
  readonly givenUp: AbortSignal
  /** Sends the call to the driver. Undefined if the connection was lost or the signal was aborted before the answer. */
  forward(signal: AbortSignal): Promise<ProxyAnswer | undefined>
  answer(answer: ProxyAnswer): void
  /** Resets the stream of the call, so that the caller gets no answer. */
  reset(): void
  /** Breaks the connections to the caller and to the driver, with all their calls. */
  cut(): void
}

/** Joins one connection of a client with one connection to the driver. Both connections end together. */
export class Link {
  readonly #near: Socket
  readonly #session: ServerHttp2Session
  readonly #driver: ClientHttp2Session

  /** Both sockets must be connected already. */
  constructor(near: Socket, far: Socket, serve: (call: PassingCall) => void) {
    this.#near = near
    this.#driver = connectHttp2('http://driver', { createConnection: () => far })
    this.#session = performServerHandshake(near)
    for (const session of [this.#session, this.#driver]) {
      // An error is ignored, because a `close` event follows each error.
      session.on('error', () => undefined)
      session.once('close', () => this.cut())
    }
    this.#session.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) =>
      this.#accept(stream, headers, serve),
    )
  }

  cut(): void {
    this.#near.destroy()
    this.#session.destroy()
    this.#driver.destroy()
  }

  #accept(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, serve: (call: PassingCall) => void): void {
    const chunks: Buffer[] = []
    const gone = new AbortController()
    stream.on('error', () => undefined)
    stream.once('close', () => gone.abort())
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.once('end', () => {
      const body = Buffer.concat(chunks)
      serve({
        path: String(headers[':path']),
        body,
        givenUp: gone.signal,
        forward: (signal) => forwardRequest(this.#driver, { headers, body, givenUp: signal }),
        answer: (answer) => give(stream, answer),
        reset: () => stream.close(constants.NGHTTP2_INTERNAL_ERROR),
        cut: () => this.cut(),
      })
    })
  }
}

interface ForwardedRequest {
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  readonly givenUp: AbortSignal
}

function forwardRequest(
  driver: ClientHttp2Session,
  { headers, body, givenUp }: ForwardedRequest,
): Promise<ProxyAnswer | undefined> {
  if (driver.destroyed || driver.closed || givenUp.aborted) return Promise.resolve(undefined)
  return new Promise((resolve) => {
    const stream = driver.request(headers, { endStream: false })
    const chunks: Buffer[] = []
    let first: ProxyAnswer['headers'] | undefined
    let last: ProxyAnswer['trailers'] = {}
    const cancel = (): void => stream.close(constants.NGHTTP2_CANCEL)
    const removeAbortListener = onAbort(givenUp, cancel)
    stream.on('error', () => undefined) // a `close` event follows each error
    stream.once('response', (response) => {
      first = plain(response)
    })
    stream.once('trailers', (trailers) => {
      last = plain(trailers)
    })
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.once('close', () => {
      removeAbortListener()
      const isComplete = first !== undefined && ('grpc-status' in last || 'grpc-status' in first)
      resolve(
        isComplete && first !== undefined ? { headers: first, body: Buffer.concat(chunks), trailers: last } : undefined,
      )
    })
    stream.end(body)
  })
}

function give(stream: ServerHttp2Stream, { headers, body, trailers }: ProxyAnswer): void {
  if (stream.destroyed || stream.closed) return
  const first: OutgoingHttpHeaders = { ':status': 200, ...headers }
  if (Object.keys(trailers).length === 0) {
    stream.respond(first, { endStream: true })
    return
  }
  stream.respond(first, { waitForTrailers: true })
  stream.once('wantTrailers', () => stream.sendTrailers({ ...trailers }))
  stream.end(body)
}

/** Returns the headers without the pseudo headers and the connection headers of HTTP/2. */
function plain(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      name.startsWith(':') || typeof value !== 'string' ? [] : [[name, value]],
    ),
  )
}

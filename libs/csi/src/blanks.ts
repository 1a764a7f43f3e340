import http2, { type ClientHttp2Session, type ClientSessionOptions, type SecureClientSessionOptions } from 'node:http2'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'

type Listener = (session: ClientHttp2Session, socket: Socket | TLSSocket) => void

const strict = http2.connect

function lenient(
  authority: string | URL,
  options?: ClientSessionOptions | SecureClientSessionOptions | Listener,
  listener?: Listener,
): ClientHttp2Session {
  if (typeof options === 'function') return lenient(authority, {}, options)
  return strict(authority, { ...options, strictFieldWhitespaceValidation: false }, listener)
}

/**
 * Node drops a header whose value begins or ends with a blank, as HTTP/2 asks for. gRPC servers send a driver's words
 * in such a header as they are, so all of "no such tier " would be lost. grpc-js has no option for it.
 */
export function keepOuterBlanks(): void {
  http2.connect = lenient
}

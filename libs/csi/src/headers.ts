import http2, {
  type ClientHttp2Session,
  type ClientSessionOptions,
  type IncomingHttpHeaders,
  type SecureClientSessionOptions,
} from 'node:http2'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'

type Listener = (session: ClientHttp2Session, socket: Socket | TLSSocket) => void

const MESSAGE = 'grpc-message'
const strict = http2.connect
/** Marks the replaced `http2.connect`. A second copy of this module, as in tests, must not replace it again. */
const LENIENT = Symbol.for('csi-sidecars.lenient')

function lenient(
  authority: string | URL,
  options?: ClientSessionOptions | SecureClientSessionOptions | Listener,
  listener?: Listener,
): ClientHttp2Session {
  if (typeof options === 'function') return lenient(authority, {}, options)
  const session = strict(authority, { ...options, strictFieldWhitespaceValidation: false }, listener)
  const request = session.request.bind(session)
  // These listeners decode the error message, so they must run before all other listeners of the stream.
  session.request = (...parameters) =>
    request(...parameters)
      .on('response', reencodeMessage)
      .on('trailers', reencodeMessage)
  return session
}

/**
 * Rewrites the header with the error message of the driver, so that grpc-js reads it as grpc-go does. Servers do not
 * always escape the message. Node drops a header that begins or ends with a blank, and grpc-js drops a header that is
 * not ASCII.
 */
export function decodeStatusMessageAsUtf8(): void {
  if (!(LENIENT in http2.connect)) http2.connect = Object.assign(lenient, { [LENIENT]: true })
}

function reencodeMessage(headers: IncomingHttpHeaders): void {
  const message = headers[MESSAGE]
  // Most messages are printable ASCII without a percent sign, and need no change.
  if (typeof message === 'string' && !/^[ -$&-~]*$/.test(message)) headers[MESSAGE] = encodeURI(decoded(message))
}

/** Decodes `%41` to the byte 0x41, and then UTF-8. Node returns a header with one character for each byte. */
function decoded(message: string): string {
  const bytes = message.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString('utf8')
}

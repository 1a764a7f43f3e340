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
/** On the lenient one. There may be another copy of this module in the process: each test file of a run has its own. */
const LENIENT = Symbol.for('csi-sidecars.lenient')

function lenient(
  authority: string | URL,
  options?: ClientSessionOptions | SecureClientSessionOptions | Listener,
  listener?: Listener,
): ClientHttp2Session {
  if (typeof options === 'function') return lenient(authority, {}, options)
  const session = strict(authority, { ...options, strictFieldWhitespaceValidation: false }, listener)
  const request = session.request.bind(session)
  // Before anybody else listens to the stream.
  session.request = (...parameters) =>
    request(...parameters)
      .on('response', keepWords)
      .on('trailers', keepWords)
  return session
}

/**
 * gRPC servers send a driver's words in a header, some of them as they are. Node drops one whose value begins or ends
 * with a blank, as HTTP/2 asks for, and grpc-js one that is not ASCII; and of escaped words it leaves some escaped.
 * It has no option for either, so headers are made such that it reads them as Go does.
 */
export function keepDriversWords(): void {
  if (!(LENIENT in http2.connect)) http2.connect = Object.assign(lenient, { [LENIENT]: true })
}

function keepWords(headers: IncomingHttpHeaders): void {
  const words = headers[MESSAGE]
  // Words that hold nothing to decode are nearly all.
  if (typeof words === 'string' && !/^[ -$&-~]*$/.test(words)) headers[MESSAGE] = encodeURI(decoded(words))
}

/** `%41` is the byte 41; whatever is no such escape stands for itself. Node gives a byte for each character. */
function decoded(words: string): string {
  const bytes = words.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString('utf8')
}

import { isError, messageOf, systemCodeOf } from '@csi-sidecars/base'

/** The texts of Go programs for the error codes of Node, because people search for the texts of Go. */
const SYSTEM_WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset by peer',
  ECONNABORTED: 'software caused connection abort',
  EPIPE: 'broken pipe',
  EHOSTUNREACH: 'no route to host',
  ENETUNREACH: 'network is unreachable',
  EHOSTDOWN: 'host is down',
  EADDRNOTAVAIL: 'cannot assign requested address',
  EMFILE: 'too many open files',
  EACCES: 'permission denied',
}

const UNKNOWN_AUTHORITY = 'x509: certificate signed by unknown authority'
const CERTIFICATE_WORDS: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: UNKNOWN_AUTHORITY,
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_AUTHORITY,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_AUTHORITY,
  CERT_UNTRUSTED: UNKNOWN_AUTHORITY,
  CERT_SIGNATURE_FAILURE: UNKNOWN_AUTHORITY,
  CERT_HAS_EXPIRED: 'x509: certificate has expired or is not yet valid',
  CERT_NOT_YET_VALID: 'x509: certificate has expired or is not yet valid',
}

/** The message if the server, or a proxy in front of it, supports only HTTP/2. */
export const NO_HTTP_1 = 'the server speaks no HTTP/1.1'

/** The error of a connection that failed to open or was lost. The message equals Go's. */
export class NetworkError extends Error {
  override readonly name = 'NetworkError'
}

/** Returns an address such as `10.0.0.1:443`, `[::1]:443` or `api.example.com:443`. */
export function hostPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

/** Returns the error of a connection to `host` that could not be opened. */
export function dialError(thrown: unknown, host: string, port: number): NetworkError {
  const cause = firstOf(thrown)
  const code = systemCodeOf(cause)
  if (code === 'ENOTFOUND' || code === 'EAI_NONAME') return of(`dial tcp: lookup ${host}: no such host`, thrown)
  if (code?.startsWith('EAI_')) return of(`dial tcp: lookup ${host}: ${lookupWords(code)}`, thrown)
  const address = hostPort(addressIn(cause) ?? host, port)
  if (code === 'ETIMEDOUT') return of(`dial tcp ${address}: i/o timeout`, thrown)
  const text = code === undefined ? undefined : SYSTEM_WORDS[code]
  return of(`dial tcp ${address}: ${text === undefined ? messageOf(cause) : `connect: ${text}`}`, thrown)
}

export function dialTimeout(host: string, port: number): NetworkError {
  return new NetworkError(`dial tcp ${hostPort(host, port)}: i/o timeout`)
}

export function handshakeTimeout(): NetworkError {
  return new NetworkError('net/http: TLS handshake timeout')
}

export function handshakeError(thrown: unknown): NetworkError {
  const code = systemCodeOf(thrown)
  const certificate = code === undefined ? undefined : CERTIFICATE_WORDS[code]
  if (certificate !== undefined) return of(`tls: failed to verify certificate: ${certificate}`, thrown)
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return of(`tls: failed to verify certificate: x509: ${alternativeNames(thrown)}`, thrown)
  }
  if (code === 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL') return of(NO_HTTP_1, thrown)
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code === 'ERR_SSL_PACKET_LENGTH_TOO_LONG') {
    return of('http: server gave HTTP response to HTTPS client', thrown)
  }
  return exchangeError(thrown)
}

/** Returns the error of a connection that broke during a request. Keeps errors that already have the text of Go. */
export function exchangeError(thrown: unknown): NetworkError {
  if (thrown instanceof NetworkError) return thrown
  const code = systemCodeOf(thrown)
  const text = code === undefined ? undefined : SYSTEM_WORDS[code]
  if (text === undefined) return of(oneLine(messageOf(thrown)), thrown)
  const syscall = syscallIn(thrown)
  return of(`${syscall} tcp: ${syscall}: ${text}`, thrown)
}

function of(message: string, cause: unknown): NetworkError {
  return new NetworkError(message, { cause })
}

/** Returns the first of several errors: a name with several addresses fails with one error for each address. */
function firstOf(thrown: unknown): unknown {
  return isError(thrown) && 'errors' in thrown && Array.isArray(thrown.errors) ? (thrown.errors[0] ?? thrown) : thrown
}

function addressIn(thrown: unknown): string | undefined {
  return isError(thrown) && 'address' in thrown && typeof thrown.address === 'string' ? thrown.address : undefined
}

function syscallIn(thrown: unknown): string {
  return isError(thrown) && 'syscall' in thrown && typeof thrown.syscall === 'string' ? thrown.syscall : 'read'
}

function lookupWords(code: string): string {
  return code === 'EAI_AGAIN' ? 'server misbehaving' : code
}

/** Translates Node's error about a wrong host name in a certificate into the error of Go. */
function alternativeNames(thrown: unknown): string {
  const match = /(?:Host: (\S+)\.|IP: (\S+)) is not (?:in the )?cert's (?:altnames|list): (.*)/.exec(messageOf(thrown))
  const requestedName = match?.[1] ?? match?.[2]
  if (match === null || requestedName === undefined) return oneLine(messageOf(thrown))
  const names = (match[3] ?? '').replaceAll(/(?:DNS|IP Address):/g, '').trim()
  return `certificate is valid for ${names}, not ${requestedName}`
}

function oneLine(text: string): string {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(' ')
}

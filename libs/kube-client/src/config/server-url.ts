import { isIP } from 'node:net'

/** The URL of the API server, split into the parts that requests need. */
export interface ServerAddress {
  /** The origin of the server. It contains the port that the user wrote, even a default port of the scheme. */
  readonly origin: string
  readonly basePath: string
}

/**
 * Hides the user and the password in the text of a URL, even of an invalid URL, because messages reach logs. Everything
 * up to the last `@` is hidden, because a password may contain characters that no URL may contain.
 */
export function redactedUrl(text: string): string {
  const scheme = /^[a-z][a-z0-9+.-]*:\/\//i.exec(text)?.[0] ?? ''
  const at = text.lastIndexOf('@')
  return at < scheme.length ? text : `${scheme}xxxxx${text.slice(at)}`
}

/**
 * Parses a server in a kubeconfig or in --master: a URL or `host:port`. Returns undefined for any other text.
 * `defaultTls` decides the scheme of `host:port`.
 */
export function parseServer(server: string, defaultTls: boolean): ServerAddress | undefined {
  const isUrl = server.includes('://')
  const text = isUrl ? server : `${defaultTls ? 'https' : 'http'}://${server}`
  const url = parse(text)
  if (url === undefined || (!isUrl && url.pathname !== '/')) return undefined
  let end = url.pathname.length
  while (url.pathname[end - 1] === '/') end -= 1
  return { origin: originOf(url, text), basePath: url.pathname.slice(0, end) }
}

/** Returns the origin with the port as it is written, because `URL` drops the default port of a scheme. */
function originOf(url: URL, text: string): string {
  const written = /^[^/]*\/\/[^/?#]*:(\d+)(?:[/?#]|$)/.exec(text)?.[1]
  return written === undefined ? url.origin : `${url.protocol}//${url.hostname}:${Number(written)}`
}

function parse(text: string): URL | undefined {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return undefined
  return new URL(text)
}

/**
 * Reports whether credentials may be sent to this server: with TLS, or on this machine. An http server in --master must
 * not receive the token for an https server in the kubeconfig.
 */
export function maySendCredentials(origin: string): boolean {
  const { protocol, hostname } = new URL(origin)
  if (protocol === 'https:') return true
  return hostname === 'localhost' || hostname === '[::1]' || (isIP(hostname) === 4 && hostname.startsWith('127.'))
}

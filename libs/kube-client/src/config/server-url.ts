import { isIP } from 'node:net'

/**
 * The text of a URL, also of one that is none, without its user part: it may hold a password, and messages end up in
 * logs. Everything up to the last `@` counts, since a password may hold what no URL may.
 */
export function redactedUrl(text: string): string {
  const scheme = /^[a-z][a-z0-9+.-]*:\/\//i.exec(text)?.[0] ?? ''
  const at = text.lastIndexOf('@')
  return at < scheme.length ? text : `${scheme}xxxxx${text.slice(at)}`
}

export interface ServerAddress {
  /**
   * The origin with the port if the user wrote one, even a default port, because users know the server by this text.
   */
  readonly origin: string
  readonly basePath: string
}

/**
 * Parses a server of a kubeconfig or of --master: a URL, or `host:port`, for which `defaultTls` decides the scheme.
 * Returns undefined if it is neither.
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

/** A URL forgets a port that is its scheme's own. */
function originOf(url: URL, text: string): string {
  const written = /^[^/]*\/\/[^/?#]*:(\d+)(?:[/?#]|$)/.exec(text)?.[1]
  return written === undefined ? url.origin : `${url.protocol}//${url.hostname}:${Number(written)}`
}

function parse(text: string): URL | undefined {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return undefined
  return new URL(text)
}

/**
 * Whether secrets may be sent to this server: over TLS, or to this machine itself. A --master that turns a configured
 * https server into http must not give the token away.
 */
export function maySendCredentials(origin: string): boolean {
  const { protocol, hostname } = new URL(origin)
  if (protocol === 'https:') return true
  return hostname === 'localhost' || hostname === '[::1]' || (isIP(hostname) === 4 && hostname.startsWith('127.'))
}

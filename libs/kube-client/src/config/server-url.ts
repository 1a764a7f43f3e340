import { isIP } from 'node:net'

export interface Server {
  readonly origin: string
  readonly basePath: string
}

/** A server as kubeconfigs and --master write it: a URL, or `host:port` whose scheme follows from `defaultTls`. */
export function parseServer(server: string, defaultTls: boolean): Server {
  const isUrl = server.includes('://')
  const url = parse(isUrl ? server : `${defaultTls ? 'https' : 'http'}://${server}`)
  if (url === undefined || (!isUrl && url.pathname !== '/')) {
    throw new Error(`host must be a URL or a host:port pair: ${JSON.stringify(server)}`)
  }
  return { origin: url.origin, basePath: url.pathname.replace(/\/+$/, '') }
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

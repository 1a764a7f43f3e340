import { throughHttpProxy } from '../http/connect-proxy.ts'
import type { OpenStream } from '../http/dial.ts'
import { throughSocksProxy } from '../http/socks-proxy.ts'
import { redactedUrl } from './redacted-url.ts'

/** Throws the error of clientcmd for what is no proxy's address. */
export function parseProxy(text: string): URL {
  if (!URL.canParse(text)) throw new Error(`could not parse: ${redactedUrl(text)}`)
  const url = new URL(text)
  if (!/^(?:https?|socks5h?):$/.test(url.protocol)) {
    // Of `me:password@proxy` the user is what looks like a scheme.
    const scheme = text.includes('@') && !text.includes('://') ? 'xxxxx' : url.protocol.slice(0, -1)
    throw new Error(`unsupported scheme "${scheme}", must be http, https, or socks5`)
  }
  return url
}

export function throughProxy(proxy: URL): OpenStream {
  return proxy.protocol.startsWith('http') ? throughHttpProxy(proxy) : throughSocksProxy(proxy)
}

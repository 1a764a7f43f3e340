import { throughHttpProxy } from '../http/connect-proxy.ts'
import type { OpenStream } from '../http/dial.ts'

/** Throws for what is no proxy's address, in clientcmd's words. */
export function parseProxy(text: string): URL {
  if (!URL.canParse(text)) throw new Error(`could not parse: ${text}`)
  const url = new URL(text)
  if (!/^(?:https?|socks5h?):$/.test(url.protocol)) {
    throw new Error(`unsupported scheme ${JSON.stringify(url.protocol.slice(0, -1))}, must be http, https, or socks5`)
  }
  return url
}

/** Streams through a proxy. Code for SOCKS is loaded only when such a proxy is configured. */
export async function throughProxy(proxy: URL): Promise<OpenStream> {
  if (proxy.protocol.startsWith('http')) return throughHttpProxy(proxy)
  const { throughSocksProxy } = await import('./socks-proxy.ts')
  return throughSocksProxy(proxy)
}

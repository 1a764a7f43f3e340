import { throughHttpProxy } from '../http/connect-proxy.ts'
import type { OpenStream } from '../http/dial.ts'
import { throughSocksProxy } from '../http/socks-proxy.ts'

/** Throws for what is no proxy's address, in clientcmd's words. */
export function parseProxy(text: string): URL {
  if (!URL.canParse(text)) throw new Error(`could not parse: ${text}`)
  const url = new URL(text)
  if (!/^(?:https?|socks5h?):$/.test(url.protocol)) {
    throw new Error(`unsupported scheme ${JSON.stringify(url.protocol.slice(0, -1))}, must be http, https, or socks5`)
  }
  return url
}

export function throughProxy(proxy: URL): OpenStream {
  return proxy.protocol.startsWith('http') ? throughHttpProxy(proxy) : throughSocksProxy(proxy)
}

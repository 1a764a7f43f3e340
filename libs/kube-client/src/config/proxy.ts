import { BlockList, isIP } from 'node:net'
import { type OpenStream, portOf, throughHttpProxy, throughSocksProxy } from '@csi-sidecars/http1'
import { redactedUrl } from './server-url.ts'

/** Returns the proxy that the environment sets for a server, by the rules of Go. Undefined if no proxy is set. */
export function environmentProxy(origin: string, env: NodeJS.ProcessEnv): OpenStream | undefined {
  const url = new URL(origin)
  const secure = url.protocol === 'https:'
  const value = secure ? variable(env, 'HTTPS_PROXY') : variable(env, 'HTTP_PROXY')
  if (value === undefined) return undefined
  const port = portOf(url)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (bypassesProxy(host, port, variable(env, 'NO_PROXY') ?? '')) return undefined
  return throughProxy(parseProxy(value.includes('://') ? value : `http://${value}`))
}

/** Reads a variable of the environment by its name in upper case first, then in lower case, as Go does. */
function variable(env: NodeJS.ProcessEnv, name: string): string | undefined {
  return env[name] || env[name.toLowerCase()] || undefined
}

/**
 * Reports whether NO_PROXY exempts a server, by the rules of Go's programs: `*`, names with their subdomains (`.x` for
 * subdomains alone), addresses, CIDR blocks, each optionally with a port. Loopback is always exempt.
 */
export function bypassesProxy(host: string, port: number, noProxy: string): boolean {
  const name = host.toLowerCase().replace(/\.$/, '')
  if (name === 'localhost' || isLoopback(name)) return true
  return noProxy
    .split(',')
    .map((entry) => entry.trim().toLowerCase())
    .some((entry) => entry !== '' && matches(entry, name, port))
}

function matches(entry: string, name: string, port: number): boolean {
  if (entry === '*') return true
  if (entry.includes('/')) return inBlock(entry, name)
  const { host, port: entryPort } = splitPort(entry)
  if (entryPort !== undefined && entryPort !== port) return false
  if (isIP(host) || isIP(name)) return host === name
  const suffix = host.replace(/^\*/, '')
  return suffix.startsWith('.') ? name.endsWith(suffix) : name === suffix || name.endsWith(`.${suffix}`)
}

function splitPort(entry: string): { host: string; port: number | undefined } {
  const bracketed = /^\[(.+)\](?::(\d+))?$/.exec(entry)
  if (bracketed)
    return { host: bracketed[1] ?? '', port: bracketed[2] === undefined ? undefined : Number(bracketed[2]) }
  if (isIP(entry)) return { host: entry, port: undefined }
  const named = /^(.+):(\d+)$/.exec(entry)
  return named ? { host: named[1] ?? '', port: Number(named[2]) } : { host: entry, port: undefined }
}

function inBlock(block: string, address: string): boolean {
  const family = isIP(address)
  const [net = '', prefix = ''] = block.split('/')
  if (family === 0 || isIP(net) !== family || !/^\d+$/.test(prefix)) return false
  const bits = Number(prefix)
  if (bits > (family === 4 ? 32 : 128)) return false
  const list = new BlockList()
  list.addSubnet(net, bits, family === 4 ? 'ipv4' : 'ipv6')
  return list.check(address, family === 4 ? 'ipv4' : 'ipv6')
}

function isLoopback(address: string): boolean {
  return address === '::1' || (isIP(address) === 4 && address.startsWith('127.'))
}

/** Parses the address of a proxy. Throws the error of clientcmd if the text is not such an address. */
export function parseProxy(text: string): URL {
  if (!URL.canParse(text)) throw new Error(`could not parse: ${redactedUrl(text)}`)
  const url = new URL(text)
  if (!/^(?:https?|socks5h?):$/.test(url.protocol)) {
    // `URL` reads the user name in `me:password@proxy` as the scheme, so the message hides the scheme.
    const scheme = text.includes('@') && !text.includes('://') ? 'xxxxx' : url.protocol.slice(0, -1)
    throw new Error(`unsupported scheme "${scheme}", must be http, https, or socks5`)
  }
  return url
}

export function throughProxy(proxy: URL): OpenStream {
  return proxy.protocol.startsWith('http') ? throughHttpProxy(proxy) : throughSocksProxy(proxy)
}

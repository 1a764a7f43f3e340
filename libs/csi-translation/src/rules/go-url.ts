import { isIPv6 } from 'node:net'
import { quoted } from './go-text.ts'

/** The error for a text that Go's `net/url` refuses. The message is Go's. */
export class UrlError extends Error {
  override readonly name = 'UrlError'
}

/** The ASCII characters that are valid unescaped in a host. */
const HOST = /[A-Za-z0-9\-_.~!$&'()*+,;=:[\]<>"]/
const ESCAPE = /^%[0-9a-fA-F]{2}$/
const USER_INFO = /^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/
const PORT = /^(?::[0-9]*)?$/
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression finds control characters
const CONTROL = /[\x00-\x1f\x7f]/

/**
 * Returns the decoded path of a URL with a scheme and `//`, by the rules of Go. The `URL` of Node.js has other rules.
 */
export function urlPath(text: string): string {
  const hash = text.indexOf('#')
  const url = hash === -1 ? text : text.slice(0, hash)
  const path = naming(url, () => pathOf(url))
  if (hash !== -1) naming(text, () => unescaped(text.slice(hash + 1)))
  return path
}

function naming<T>(url: string, parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    if (!(error instanceof UrlError)) throw error
    throw new UrlError(`parse ${quoted(url)}: ${error.message}`, { cause: error })
  }
}

function pathOf(url: string): string {
  if (CONTROL.test(url)) throw new UrlError('net/url: invalid control character in URL')
  const [beforeQuery = ''] = url.split('?', 1)
  const rest = beforeQuery.slice(beforeQuery.indexOf('//') + 2)
  const slash = rest.indexOf('/')
  checkAuthority(slash === -1 ? rest : rest.slice(0, slash))
  return slash === -1 ? '' : unescaped(rest.slice(slash))
}

function checkAuthority(authority: string): void {
  const at = authority.lastIndexOf('@')
  checkHost(authority.slice(at + 1))
  if (at === -1) return
  const user = authority.slice(0, at)
  if (!USER_INFO.test(user)) throw new UrlError('net/url: invalid userinfo')
  unescaped(user)
}

function checkHost(host: string): void {
  const bracket = host.lastIndexOf('[')
  if (bracket > 0) throw new UrlError('invalid IP-literal')
  if (bracket === 0) {
    checkAddress(host)
    return
  }
  const colon = host.lastIndexOf(':')
  if (colon !== -1) checkPort(host.slice(colon))
  checkHostText(host)
}

function checkAddress(host: string): void {
  const end = host.lastIndexOf(']')
  if (end === -1) throw new UrlError("missing ']' in host")
  checkPort(host.slice(end + 1))
  const address = host.slice(1, end)
  checkHostText(address.split('%25', 1)[0] ?? '')
  if (!isIPv6(unescaped(address))) throw new UrlError(`invalid host: ParseAddr(${quoted(address)}): unable to parse IP`)
}

function checkPort(port: string): void {
  if (!PORT.test(port)) throw new UrlError(`invalid port ${quoted(port)} after host`)
}

/** Throws if a host is invalid. Only bytes above ASCII and the percent sign may be escaped in it. */
function checkHostText(host: string): void {
  for (let at = 0; at < host.length; at += 1) {
    const character = host.charAt(at)
    if (character === '%') {
      const triple = host.slice(at, at + 3)
      if (!ESCAPE.test(triple) || (triple.charAt(1) < '8' && triple !== '%25')) throw badEscape(triple)
      at += 2
    } else if (character < '\u0080' && !HOST.test(character)) {
      throw new UrlError(`invalid character ${quoted(character)} in host name`)
    }
  }
}

function unescaped(text: string): string {
  for (let at = text.indexOf('%'); at !== -1; at = text.indexOf('%', at + 3)) {
    const triple = text.slice(at, at + 3)
    if (!ESCAPE.test(triple)) throw badEscape(triple)
  }
  return text.replace(/(?:%[0-9a-fA-F]{2})+/g, (escapes) =>
    Buffer.from(escapes.replaceAll('%', ''), 'hex').toString('utf8'),
  )
}

function badEscape(triple: string): UrlError {
  return new UrlError(`invalid URL escape ${quoted(triple)}`)
}

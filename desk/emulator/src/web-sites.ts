import { isIP } from 'node:net'

/** The headers by which a browser names the sender and the target of a request. */
export interface BrowserHeaders {
  readonly host?: string | undefined
  readonly origin?: string | undefined
  readonly 'sec-fetch-site'?: string | undefined
}

/**
 * Reports whether the Host header is an IP address, localhost or one of the given names. Other names allow DNS
 * rebinding: a web site could point its name to this machine, and read the answers.
 */
export function isOwnHost({ host = '' }: BrowserHeaders, names: readonly string[] = []): boolean {
  const { address, name = '' } = HOST.exec(host.toLowerCase())?.groups ?? {}
  if (address !== undefined) return isIP(address) === 6
  return isIP(name) === 4 || name === 'localhost' || names.includes(name)
}

const HOST = /^(?:\[(?<address>[^\]]*)\]|(?<name>[^:]*))(?::\d{1,5})?$/

/** Reports whether a page of another origin has sent a request. Only browsers send `Origin` and `Sec-Fetch-Site`. */
export function isFromOtherSite(headers: BrowserHeaders, scheme: 'http' | 'https'): boolean {
  const { host = '', origin, 'sec-fetch-site': site = 'none' } = headers
  if (origin !== undefined && origin !== `${scheme}://${host}`) return true
  return site !== 'none' && site !== 'same-origin'
}

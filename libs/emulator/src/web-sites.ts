import { isIP } from 'node:net'

/** The headers by which a browser names the sender and the target of a request. */
export interface BrowserHeaders {
  readonly host?: string | undefined
  readonly origin?: string | undefined
  readonly 'sec-fetch-site'?: string | undefined
}

/**
 * Whether a request names this machine as browsers do: by an IP address, as localhost, or by one of the given names.
 * Any other name may be one that a web site has pointed to this address, so that its page can read the answers.
 */
export function isOwnHost({ host = '' }: BrowserHeaders, names: readonly string[] = []): boolean {
  const { address, name = '' } = HOST.exec(host.toLowerCase())?.groups ?? {}
  if (address !== undefined) return isIP(address) === 6
  return isIP(name) === 4 || name === 'localhost' || names.includes(name)
}

const HOST = /^(?:\[(?<address>[^\]]*)\]|(?<name>[^:]*))(?::\d{1,5})?$/

/** Reports whether a page of another origin has sent a request. Programs that are no browser send neither header. */
export function isFromOtherSite(headers: BrowserHeaders, scheme: 'http' | 'https'): boolean {
  const { host = '', origin, 'sec-fetch-site': site = 'none' } = headers
  if (origin !== undefined && origin !== `${scheme}://${host}`) return true
  return site !== 'none' && site !== 'same-origin'
}

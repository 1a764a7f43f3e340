/** The options with which Node listens like Go's `net.Listen("tcp", address)`. */
export interface ListenAddress {
  /** The host. Undefined means all addresses of the machine, IPv6 and IPv4. */
  readonly host: string | undefined
  readonly port: number
}

/** The error of an address on which the server cannot listen. The message equals Go's. */
export class ListenError extends Error {
  override readonly name = 'ListenError'
}

/** The names of ports that an address may contain. Go has more names, which no sidecar needs. */
const SERVICES: Readonly<Record<string, number>> = { http: 80, https: 443 }

/** Hosts that Go reads as all addresses, IPv4 and IPv6 if the machine has both. */
const WILDCARDS = ['', '0.0.0.0', '::']

/** Parses an address such as `:8080`, `0.0.0.0:3303`, `localhost:8203` or `[::1]:80`. */
export function parseListenAddress(address: string): ListenAddress {
  const { host, port } = splitHostPort(address)
  return { host: WILDCARDS.includes(host) ? undefined : host, port: parsePort(port) }
}

function splitHostPort(address: string): { host: string; port: string } {
  const fail = (why: string): never => {
    throw new ListenError(`listen tcp: address ${address}: ${why}`)
  }
  const last = address.lastIndexOf(':')
  if (last < 0) return fail('missing port in address')
  if (!address.startsWith('[')) {
    if (address.indexOf(':') !== last) return fail('too many colons in address')
    if (/[[\]]/.test(address)) return fail(`unexpected '${address.includes('[') ? '[' : ']'}' in address`)
    return { host: address.slice(0, last), port: address.slice(last + 1) }
  }
  const end = address.indexOf(']')
  if (end < 0) return fail("missing ']' in address")
  if (end + 1 === address.length) return fail('missing port in address')
  if (end + 1 !== last) return fail(address[end + 1] === ':' ? 'too many colons in address' : 'missing port in address')
  return { host: address.slice(1, end), port: address.slice(last + 1) }
}

function parsePort(text: string): number {
  if (text === '') return 0
  const service = Object.hasOwn(SERVICES, text) ? SERVICES[text] : undefined
  if (service !== undefined) return service
  if (!/^[+-]?[0-9]+$/.test(text)) throw new ListenError(`listen tcp: lookup tcp/${text}: unknown port`)
  const port = Number(text)
  if (port < 0 || port > 65535) throw new ListenError(`listen tcp: address ${Number(text)}: invalid port`)
  return port
}

/** The texts of Go for the error codes of Node. */
const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'bind: address already in use',
  EADDRNOTAVAIL: 'bind: cannot assign requested address',
  EACCES: 'bind: permission denied',
  EAFNOSUPPORT: 'socket: address family not supported by protocol',
}

/** Returns the error of Go for an address on which the server cannot listen. */
export function listenError(address: string, code: string | undefined, cause: unknown): ListenError {
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    const host = address.slice(0, address.lastIndexOf(':'))
    return new ListenError(`listen tcp: lookup ${host}: no such host`, { cause })
  }
  const reason = (code !== undefined && Object.hasOwn(REASONS, code) ? REASONS[code] : code) ?? String(cause)
  return new ListenError(`listen tcp ${address}: ${reason}`, { cause })
}

import { isIP, isIPv4, type Socket } from 'node:net'
import { messageOf } from '@csi-sidecars/base'
import { type Address, type OpenStream, openTcp, whenReady } from './dial.ts'
import { hostPort, NetworkError } from './network-error.ts'

const VERSION = 5
const NO_AUTHENTICATION = 0
const USER_AND_PASSWORD = 2
const CONNECT = 1
const IPV4 = 1
const HOST_NAME = 3
const IPV6 = 4
/** The length of an IP address in the proxy's reply, by address type. Names have no fixed length. */
const ADDRESS_BYTES: Readonly<Record<number, number>> = { [IPV4]: 4, [IPV6]: 16 }

/** The texts of Go for the replies in RFC 1928. */
const REFUSALS: Readonly<Record<number, string>> = {
  1: 'general SOCKS server failure',
  2: 'connection not allowed by ruleset',
  3: 'network unreachable',
  4: 'host unreachable',
  5: 'connection refused',
  6: 'TTL expired',
  7: 'command not supported',
  8: 'address type not supported',
}

/** Opens connections through a SOCKS5 proxy. The proxy resolves names, with `socks5:` as with `socks5h:`. */
export function throughSocksProxy(proxy: URL): OpenStream {
  const proxyAddress: Address = {
    host: proxy.hostname.replace(/^\[|\]$/g, ''),
    port: proxy.port === '' ? 1080 : Number(proxy.port),
  }
  return async (target, signal) => {
    const socket = await openTcp(proxyAddress, signal)
    try {
      const replies = new ReplyReader(socket, signal)
      await negotiate(socket, replies, proxy)
      await connect(socket, replies, target)
      replies.unreadRest()
      return socket
    } catch (error) {
      socket.destroy()
      if (signal.aborted) throw signal.reason
      const proxyAt = hostPort(proxyAddress.host, proxyAddress.port)
      const message = `socks connect tcp ${proxyAt}->${hostPort(target.host, target.port)}: ${messageOf(error)}`
      throw new NetworkError(message, { cause: error })
    }
  }
}

async function negotiate(socket: Socket, replies: ReplyReader, { username, password }: URL): Promise<void> {
  const methods = username === '' ? [NO_AUTHENTICATION] : [NO_AUTHENTICATION, USER_AND_PASSWORD]
  socket.write(Buffer.from([VERSION, methods.length, ...methods]))
  const [version, method] = await replies.readExactly(2)
  expectVersion(version)
  if (method === NO_AUTHENTICATION) return
  if (method !== USER_AND_PASSWORD || username === '') throw new NetworkError('no acceptable authentication methods')
  socket.write(
    Buffer.concat([Buffer.from([1]), withLengthByte(decodePart(username)), withLengthByte(decodePart(password))]),
  )
  const [, status] = await replies.readExactly(2)
  if (status !== 0) throw new NetworkError('username/password authentication failed')
}

async function connect(socket: Socket, replies: ReplyReader, { host, port }: Address): Promise<void> {
  socket.write(Buffer.concat([Buffer.from([VERSION, CONNECT, 0]), addressBytes(host), portBytes(port)]))
  const [version, status = 0, , kind = 0] = await replies.readExactly(4)
  expectVersion(version)
  if (status !== 0) throw new NetworkError(`unknown error ${REFUSALS[status] ?? `unknown code: ${status}`}`)
  const length = kind === HOST_NAME ? (await replies.readExactly(1))[0] : ADDRESS_BYTES[kind]
  if (length === undefined) throw new NetworkError(`unknown address type ${kind}`)
  await replies.readExactly(length + 2)
}

function expectVersion(version: number | undefined): void {
  if (version !== VERSION) throw new NetworkError(`unexpected protocol version ${version}`)
}

function addressBytes(host: string): Buffer {
  if (isIP(host) === 0) return Buffer.concat([Buffer.from([HOST_NAME]), withLengthByte(Buffer.from(host))])
  if (isIPv4(host)) return Buffer.from([IPV4, ...host.split('.').map(Number)])
  return Buffer.concat([Buffer.from([IPV6]), ipv6Bytes(host)])
}

/** Returns the bytes of an IPv6 address. `URL` writes it without dots. Groups that `::` omits are zero. */
function ipv6Bytes(host: string): Buffer {
  const [head = '', tail = ''] = new URL(`http://[${host}]`).hostname.slice(1, -1).split('::')
  const before = groupsOf(head)
  const after = groupsOf(tail)
  const zeros = Array<number>(8 - before.length - after.length).fill(0)
  return Buffer.from([...before, ...zeros, ...after].flatMap((word) => [word >> 8, word & 255]))
}

function groupsOf(text: string): number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16))
}

function portBytes(port: number): Buffer {
  return Buffer.from([port >> 8, port & 255])
}

/** Returns the bytes with their length in one byte before them. */
function withLengthByte(bytes: Buffer): Buffer {
  if (bytes.length > 255) throw new NetworkError('FQDN, username or password too long')
  return Buffer.concat([Buffer.from([bytes.length]), bytes])
}

function decodePart(part: string): Buffer {
  return Buffer.from(decodeURIComponent(part))
}

/** Reads the replies of the proxy in pieces of a known length. */
class ReplyReader {
  readonly #socket: Socket
  readonly #signal: AbortSignal
  #bytes: Buffer = Buffer.alloc(0)

  constructor(socket: Socket, signal: AbortSignal) {
    this.#socket = socket
    this.#signal = signal
  }

  /** Resolves with exactly the next `count` bytes. */
  async readExactly(count: number): Promise<Buffer> {
    while (this.#bytes.length < count) {
      const more: Buffer | null = this.#socket.read()
      if (more !== null) this.#bytes = Buffer.concat([this.#bytes, more])
      else
        await whenReady(this.#socket, 'readable', {
          signal: this.#signal,
          describe: (error) => new NetworkError(messageOf(error)),
        })
    }
    const bytes = this.#bytes.subarray(0, count)
    this.#bytes = this.#bytes.subarray(count)
    return bytes
  }

  /** Puts the bytes after the last reply, which belong to the stream, back. */
  unreadRest(): void {
    if (this.#bytes.length > 0) this.#socket.unshift(this.#bytes)
  }
}

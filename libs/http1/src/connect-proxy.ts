import { isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { type Address, type OpenStream, openTcp, whenReady } from './dial.ts'
import { handshakeError, hostPort, NetworkError } from './network-error.ts'
import { portOf } from './port.ts'

const HEAD_END = '\r\n\r\n'
const MAX_HEAD_BYTES = 16 * 1024

/** Opens connections through an HTTP proxy (`http:` or `https:`), each in a separate CONNECT tunnel. */
export function throughHttpProxy(proxy: URL): OpenStream {
  const isHttps = proxy.protocol === 'https:'
  const proxyAddress: Address = {
    host: proxy.hostname.replace(/^\[|\]$/g, ''),
    port: portOf(proxy),
  }
  return async (target, signal) => {
    const plain = await openTcp(proxyAddress, signal)
    try {
      const socket = isHttps ? await overTls(plain, proxyAddress.host, signal) : plain
      await tunnel(socket, connectRequest(target, proxy), signal)
      return socket
    } catch (error) {
      plain.destroy()
      throw error
    }
  }
}

function overTls(socket: Socket, host: string, signal: AbortSignal): Promise<Socket> {
  const servername = isIP(host) ? {} : { servername: host }
  return whenReady(connectTls({ socket, host, ...servername }), 'secureConnect', { signal, describe: handshakeError })
}

function connectRequest(target: Address, proxy: URL): string {
  const address = hostPort(target.host, target.port)
  const lines = [`CONNECT ${address} HTTP/1.1`, `Host: ${address}`]
  if (proxy.username !== '' || proxy.password !== '') {
    const pair = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`
    lines.push(`Proxy-Authorization: Basic ${Buffer.from(pair).toString('base64')}`)
  }
  return `${lines.join('\r\n')}${HEAD_END}`
}

/** Reports whether the proxy announces a body. A Transfer-Encoding is ignored, because a tunnel has no body. */
function hasBody(head: Buffer): boolean {
  return /\r\ncontent-length:[ \t]*0*[1-9]/i.test(head.toString('latin1'))
}

/** Resolves when the tunnel is open. The socket then has no listeners, and no byte of the tunnel was read. */
async function tunnel(socket: Socket, request: string, signal: AbortSignal): Promise<void> {
  let head = Buffer.alloc(0)
  let behind = 0
  const onReadable = (): void => {
    for (let bytes = socket.read(); bytes !== null; bytes = socket.read()) {
      head = Buffer.concat([head, bytes])
      const end = head.indexOf(HEAD_END)
      if (end >= 0) {
        behind = head.length - end - HEAD_END.length
        socket.emit('tunnel')
        return
      }
      if (head.length > MAX_HEAD_BYTES) socket.destroy(new NetworkError('malformed proxy response'))
    }
  }
  socket.on('readable', onReadable)
  socket.write(request)
  try {
    const describe = (error: unknown): Error => new NetworkError(`proxyconnect tcp: ${String(error)}`, { cause: error })
    await whenReady(socket, 'tunnel', { signal, describe })
  } finally {
    socket.off('readable', onReadable)
  }
  const status = /^HTTP\/1\.[01] (\d{3}) ?([^\r\n]*)/.exec(head.toString('latin1'))
  // Go's client prints only the reason phrase, such as `Proxy Authentication Required`.
  if (status?.[1] !== '200') throw new NetworkError(status?.[2] || `proxy answered ${status?.[1] ?? 'no HTTP'}`)
  // A server in a tunnel sends nothing before the client does, so these bytes come from the proxy.
  if (behind > 0 || hasBody(head)) throw new NetworkError('proxy answered CONNECT with a body instead of a tunnel')
}

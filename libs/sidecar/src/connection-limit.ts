import type { Server } from 'node:http'
import type { Server as SecureServer } from 'node:https'
import type { Socket } from 'node:net'

/** Of the connections, those that can be kept by requests under way. */
const SHARE_OF_ANSWERED = 3 / 4

/**
 * Keeps a server to `most` connections without refusing anybody: a newcomer costs the oldest connection that has no
 * complete request, and only where most are being answered the oldest of these. Node's own limit refuses the newcomer,
 * so that idle clients could keep a probe from being answered. A TLS handshake that is not over is such a connection.
 * What is returned ends all of them.
 */
export function limitConnections(server: Server | SecureServer, most: number): () => void {
  // In the order in which they came, or were last done with a request.
  const idle = new Set<Socket>()
  const answering = new Set<Socket>()
  // Else several who come at once would cost each other the connection where answers do not come.
  const mostAnswering = most * SHARE_OF_ANSWERED
  const transportOf = transports(server)
  server.on('connection', (socket: Socket) => {
    idle.add(socket)
    socket.once('close', () => {
      idle.delete(socket)
      answering.delete(socket)
    })
    if (idle.size + answering.size <= most) return
    const [oldest] = answering.size > mostAnswering ? answering : idle
    oldest?.destroy()
  })
  server.on('request', (request, response) => {
    const socket = transportOf(request.socket)
    idle.delete(socket)
    answering.add(socket)
    response.once('close', () => {
      if (!answering.delete(socket) || socket.destroyed) return
      idle.add(socket)
    })
  })
  return () => {
    for (const socket of [...idle, ...answering]) socket.destroy()
  }
}

/** Finds the TCP connection below a TLS one, which Node does not tell: both have the same addresses. */
function transports(server: Server | SecureServer): (socket: Socket) => Socket {
  const byAddress = new Map<string, Socket>()
  const below = new WeakMap<Socket, Socket>()
  if (!('setSecureContext' in server)) return (socket) => socket
  server.on('connection', (socket: Socket) => {
    const address = addressOf(socket)
    byAddress.set(address, socket)
    socket.once('close', () => {
      if (byAddress.get(address) === socket) byAddress.delete(address)
    })
  })
  server.on('secureConnection', (socket: Socket) => {
    const transport = byAddress.get(addressOf(socket))
    if (transport !== undefined) below.set(socket, transport)
  })
  return (socket) => below.get(socket) ?? socket
}

function addressOf({ remoteAddress, remotePort, localAddress }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress}`
}

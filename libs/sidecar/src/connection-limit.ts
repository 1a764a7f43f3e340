import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Keeps a server to `most` connections without refusing anybody: a newcomer costs the oldest connection that has no
 * complete request, and only where all are being answered the oldest of these. Node's own limit refuses the newcomer,
 * so that idle clients could keep a probe from being answered.
 */
export function limitConnections(server: Server, most: number): void {
  // In the order in which they came, or were last done with a request.
  const idle = new Set<Socket>()
  const answering = new Set<Socket>()
  server.on('connection', (socket) => {
    idle.add(socket)
    socket.once('close', () => {
      idle.delete(socket)
      answering.delete(socket)
    })
    if (idle.size + answering.size <= most) return
    const [oldest] = idle.size > 1 ? idle : answering
    oldest?.destroy()
  })
  server.on('request', ({ socket }, response) => {
    idle.delete(socket)
    answering.add(socket)
    response.once('close', () => {
      if (!answering.delete(socket) || socket.destroyed) return
      idle.add(socket)
    })
  })
}

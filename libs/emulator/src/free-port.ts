import { createServer } from 'node:net'
import { systemClock } from '@csi-sidecars/base'

/** From here up to where Linux begins to choose ports for others: what is handed out is taken by nobody in between. */
const PORTS = { first: 12_000, last: 32_000 }
let nextPort = PORTS.first + Math.floor(systemClock.random() * (PORTS.last - PORTS.first))

/** A port of loopback, for a program that must be told where to listen: nobody does there, and it is never the last one. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = nextPort
    nextPort = port === PORTS.last ? PORTS.first : port + 1
    if (await canListen(port)) return port
  }
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}

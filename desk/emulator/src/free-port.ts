import { createServer } from 'node:net'
import { systemClock } from '@csi-sidecars/base'

/** Ports below the first ephemeral port of Linux, so that no other program takes a port before its use. */
const PORTS = { first: 12_000, last: 32_000 }
let nextPort = PORTS.first + Math.floor(systemClock.random() * (PORTS.last - PORTS.first))

/** Returns a free loopback port for a program that gets its port as an option. Never returns the previous port. */
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

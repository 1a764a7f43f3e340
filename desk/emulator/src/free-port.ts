import { createServer } from 'node:net'
import { systemClock } from '@csi-sidecars/base'

/** Ports below the first ephemeral port of Linux, so that no other program takes a port before its use. */
const PORTS = { first: 12_000, last: 32_000 }

/** Free loopback ports in ascending order, from a first one on. */
export class FreePorts {
  #next: number

  constructor(first: number) {
    this.#next = first
  }

  /**
   * Returns a free port for a program that gets its port as an option. On Linux no process gets a port that another
   * running process has got, even if the program does not listen yet.
   */
  async take(): Promise<number> {
    for (;;) {
      const port = this.#next
      this.#next = port === PORTS.last ? PORTS.first : port + 1
      if ((await reserve(port)) && (await canListen(port))) return port
    }
  }
}

const ports = new FreePorts(PORTS.first + Math.floor(systemClock.random() * (PORTS.last - PORTS.first)))

/** Returns a free loopback port, as `FreePorts` does. Never returns the previous port. */
export const freePort = (): Promise<number> => ports.take()

/** Keeps the port from other calls until this process ends: the name of an abstract socket exists once on a machine. */
function reserve(port: number): Promise<boolean> {
  if (process.platform !== 'linux') return Promise.resolve(true)
  return new Promise((resolve) => {
    const server = createServer().unref()
    server.once('error', () => resolve(false))
    server.listen(`\0csi-sidecars-port-${port}`, () => resolve(true))
  })
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}

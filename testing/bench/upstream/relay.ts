import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { listen } from '../../e2e/harness/listen.ts'

/** Relays bytes to and from the API server, like a network. Can swallow the bytes. */
export class Relay implements AsyncDisposable {
  readonly url: string
  readonly #sockets: Set<Socket>
  readonly #close: () => Promise<void>

  private constructor(port: number, sockets: Set<Socket>, close: () => Promise<void>) {
    this.url = `https://127.0.0.1:${port}`
    this.#sockets = sockets
    this.#close = close
  }

  static async open(upstream: string): Promise<Relay> {
    const { hostname, port } = new URL(upstream)
    const sockets = new Set<Socket>()
    const server = createServer((near) => {
      const far = connect(Number(port), hostname)
      for (const [socket, other] of [
        [near, far],
        [far, near],
      ] as const) {
        sockets.add(socket)
        socket.on('error', () => undefined)
        socket.on('close', () => {
          sockets.delete(socket)
          other.destroy()
        })
        socket.pipe(other)
      }
    })
    const { port: own, [Symbol.dispose]: end } = await listen(server)
    const close = async (): Promise<void> => {
      for (const socket of sockets) socket.destroy()
      end()
      await once(server, 'close')
    }
    return new Relay(own, sockets, close)
  }

  /** Silences the open connections: they stay open and accept data, but forward none. New connections work. */
  silence(): void {
    for (const socket of this.#sockets) {
      socket.unpipe()
      socket.resume()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close()
  }
}

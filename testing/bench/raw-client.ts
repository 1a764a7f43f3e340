import { connect, type Socket } from 'node:net'
import { connect as connectSecurely } from 'node:tls'

const HEAD_END = Buffer.from('\r\n\r\n')

/**
 * One kept connection that sends ready-made requests and reads no more of the answers than it must: cheap enough to
 * saturate a server.
 */
export class RawClient {
  readonly #socket: Socket
  #received: Buffer = Buffer.alloc(0)
  #waiting: { resolve(code: number): void; reject(error: Error): void } | undefined

  constructor(url: URL) {
    const at = { host: url.hostname, port: Number(url.port) }
    this.#socket = url.protocol === 'https:' ? connectSecurely({ ...at, rejectUnauthorized: false }) : connect(at)
    this.#socket.setNoDelay(true)
    this.#socket.on('data', (chunk: Buffer) => this.#read(chunk))
    this.#socket.on('error', (error) => this.#waiting?.reject(error))
    this.#socket.on('close', () => this.#waiting?.reject(new Error('the connection was closed')))
  }

  /** Resolves with the code of the answer once all of it is here. */
  send(request: string): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    this.#waiting = { resolve, reject }
    this.#socket.write(request)
    return promise
  }

  close(): void {
    this.#waiting = undefined
    this.#socket.destroy()
  }

  #read(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk])
    const end = this.#received.indexOf(HEAD_END)
    if (end < 0) return
    const head = this.#received.toString('latin1', 0, end)
    const [, length] = /content-length: (\d+)/i.exec(head) ?? []
    if (length === undefined) {
      this.#socket.destroy(new Error(`an answer without a length: ${head}`))
      return
    }
    const whole = end + HEAD_END.length + Number(length)
    if (this.#received.length < whole) return
    this.#received = this.#received.subarray(whole)
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.resolve(Number(head.slice(9, 12)))
  }
}

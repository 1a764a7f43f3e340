import type { IncomingMessage, Server } from 'node:http'
import type { Server as SecureServer } from 'node:https'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import type { Clock } from '@csi-sidecars/base'

const CR = 13
const LF = 10
const NOTHING = Buffer.alloc(0)

type Done = (error?: Error | null) => void

/**
 * Has a server answer the requests of a connection one at a time: the next one is read when the answer has been written
 * out. Node itself parses all requests that one read brings, so a client that sends thousands and reads no answer makes
 * it hold thousands of requests and answers. To be called before others listen for connections.
 */
export function answerOneByOne(server: Server | SecureServer, clock: Clock): void {
  const event = 'setSecureContext' in server ? 'secureConnection' : 'connection'
  for (const serve of server.listeners(event)) {
    server.removeListener(event, serve as () => void)
    server.on(event, (socket: Socket) => Reflect.apply(serve, server, [new RequestGate(socket, clock)]))
  }
  server.on('request', ({ socket }, response) => {
    if (!(socket instanceof RequestGate)) return
    // All listeners hear of the end of one answer before the next request.
    response.once('close', () => queueMicrotask(() => socket.answered()))
  })
}

/** The connection of a request. */
export function connectionOf({ socket }: Pick<IncomingMessage, 'socket'>): Socket {
  return socket instanceof RequestGate ? socket.connection : socket
}

/** A connection as the HTTP parser sees it: no byte of a request before the one before it is answered. */
class RequestGate extends Duplex {
  readonly connection: Socket
  readonly #clock: Clock
  /** What the parser has not seen yet. While there is some, the connection is not read. */
  #held: Buffer = NOTHING
  #answering = false
  #ended = false
  #inHead = false
  #lineEmpty = true

  constructor(connection: Socket, clock: Clock) {
    super({ decodeStrings: false })
    this.connection = connection
    this.#clock = clock
    connection.on('data', (bytes: Buffer) => this.#take(bytes))
    connection.once('end', () => {
      this.#ended = true
      this.#handOver()
    })
    connection.once('error', (error) => this.destroy(error))
    connection.once('close', () => this.destroy())
    connection.on('timeout', () => this.emit('timeout'))
  }

  /**
   * The answer to the last request has been written out. Where more requests wait, other work gets its turn first: a
   * small answer is written out at once, and thousands of them would be one long turn.
   */
  answered(): void {
    if (this.#held.length === 0) this.#next()
    else this.#clock.schedule(0, () => this.#next())
  }

  /** Node asks for both of its sockets. */
  setTimeout(ms: number): this {
    this.connection.setTimeout(ms)
    return this
  }

  destroySoon(): void {
    if (this.writableFinished) this.destroy()
    else this.end(() => this.destroy())
  }

  override _read(): void {
    // Bytes come by themselves; the requests before them are what holds them back.
  }

  override _write(chunk: Buffer | string, encoding: BufferEncoding, done: Done): void {
    this.connection.write(chunk, encoding, done)
  }

  /** Head and body leave in one packet where they fit. */
  override _writev(chunks: readonly { chunk: Buffer | string; encoding: BufferEncoding }[], done: Done): void {
    this.connection.cork()
    chunks.forEach(({ chunk, encoding }, index) => {
      this.connection.write(chunk, encoding, index === chunks.length - 1 ? done : undefined)
    })
    this.connection.uncork()
  }

  override _final(done: Done): void {
    this.connection.end(done)
  }

  override _destroy(error: Error | null, done: Done): void {
    this.connection.destroy()
    done(error)
  }

  #take(bytes: Buffer): void {
    this.#held = this.#held.length === 0 ? bytes : Buffer.concat([this.#held, bytes])
    this.#handOver()
    if (this.#held.length > 0) this.connection.pause()
  }

  #next(): void {
    this.#answering = false
    this.#handOver()
    if (this.#held.length === 0) this.connection.resume()
  }

  #handOver(): void {
    if (this.#answering || this.destroyed) return
    const end = this.#endOfHead(this.#held)
    const bytes = this.#held.subarray(0, end)
    this.#held = end === undefined ? NOTHING : this.#held.subarray(end)
    if (end !== undefined) this.#answering = true
    if (bytes.length > 0) this.push(bytes)
    if (this.#ended && !this.#answering) this.push(null)
  }

  /**
   * Behind the blank line after a head; undefined: not in these bytes. CR counts for nothing, so that no reading of a
   * line's end finds more than one request in what is handed over. Whatever follows a head waits for the answer: a body
   * is never wanted, and ends the connection.
   */
  #endOfHead(bytes: Buffer): number | undefined {
    for (const [index, byte] of bytes.entries()) {
      if (byte === CR) continue
      if (byte !== LF) {
        this.#inHead = true
        this.#lineEmpty = false
        continue
      }
      if (this.#inHead && this.#lineEmpty) {
        this.#inHead = false
        return index + 1
      }
      this.#lineEmpty = true
    }
    return undefined
  }
}

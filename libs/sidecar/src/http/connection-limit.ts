import type { IncomingMessage, Server } from 'node:http'
import type { Server as SecureServer } from 'node:https'
import type { Socket } from 'node:net'
import { type Cancel, type Clock, TokenBucket } from '@csi-sidecars/base'
import { connectionOf } from './request-gate.ts'

/** Connections that are kept without a complete request. */
const MOST_KEPT = 64
/** Of them, those that requests in work keep. */
const MOST_ANSWERING = 48
/** Where clients come faster than they are closed. */
const MOST_OPEN = 384
/** Answers that clients have not read, over all connections. */
const MOST_UNREAD_BYTES = 8 * 1024 * 1024
/** What a client has at least to send its request, however many come after it. */
const HEARING_MS = 50
/** Clients that connect again at once must not keep the process busy with closing them. */
const CLOSING = { qps: 20, burst: 256 }

/**
 * Keeps the connections of a server few without refusing any: what is too many costs the oldest connections that have
 * no complete request, and only where most are being answered the oldest of these. Node's own limit refuses the
 * newcomer, so that idle clients could keep a probe from being answered. A TLS handshake that is not over is such a
 * connection. Answers that are not read cost the connections with the oldest of them.
 */
export class ConnectionLimit {
  readonly #clock: Clock
  readonly #closing: TokenBucket
  /** In the order in which they came, or were last done with a request. */
  readonly #idle = new Set<Socket>()
  /** With the bytes of their answers. */
  readonly #answering = new Map<Socket, number>()
  readonly #transportOf: (socket: Socket) => Socket
  #unread = 0
  #cancel: Cancel | undefined

  constructor(server: Server | SecureServer, clock: Clock) {
    this.#clock = clock
    this.#closing = new TokenBucket({ clock, ...CLOSING })
    this.#transportOf = transports(server)
    server.on('connection', (socket: Socket) => {
      socket.once('close', () => this.#forget(socket))
      this.#idle.add(socket)
      if (this.#open > MOST_OPEN) this.#closeOldest()
      this.#watch()
    })
    server.on('request', (request, response) => {
      const socket = this.#transportOf(connectionOf(request))
      this.#idle.delete(socket)
      this.#answering.set(socket, 0)
      response.once('close', () => {
        if (!this.#forget(socket) || socket.destroyed) return
        this.#idle.add(socket)
        this.#watch()
      })
    })
  }

  /** The answer to this request has so many bytes, which it holds until they are written out. */
  weigh(request: IncomingMessage, bytes: number): void {
    const socket = this.#transportOf(connectionOf(request))
    const before = this.#answering.get(socket)
    if (before === undefined) return
    this.#answering.set(socket, bytes)
    this.#unread += bytes - before
    for (const [other, unread] of this.#answering) {
      if (this.#unread <= MOST_UNREAD_BYTES) return
      if (other !== socket && unread > 0) this.#close(other)
    }
  }

  closeAll(): void {
    this.#cancel?.()
    for (const socket of [...this.#idle, ...this.#answering.keys()]) this.#close(socket)
  }

  get #open(): number {
    return this.#idle.size + this.#answering.size
  }

  /** Those that are there now have been heard by the time that some are closed. */
  #watch(): void {
    if (this.#cancel !== undefined || this.#open <= MOST_KEPT) return
    const heard = [...this.#idle]
    this.#cancel = this.#clock.schedule(HEARING_MS, () => {
      this.#cancel = undefined
      this.#closeSome(heard)
      this.#watch()
    })
  }

  #closeSome(heard: readonly Socket[]): void {
    const stalled = [...this.#answering.keys()].slice(0, Math.max(0, this.#answering.size - MOST_ANSWERING))
    for (const socket of [...stalled, ...heard.filter((each) => this.#idle.has(each))]) {
      if (this.#open <= MOST_KEPT) return
      if (this.#closing.reserve() > 0) {
        this.#closing.refund()
        return
      }
      this.#close(socket)
    }
  }

  #closeOldest(): void {
    const [oldest] = this.#answering.size > MOST_ANSWERING ? this.#answering.keys() : this.#idle
    if (oldest !== undefined) this.#close(oldest)
  }

  #close(socket: Socket): void {
    this.#forget(socket)
    socket.destroy()
  }

  /** Whether it was being answered. */
  #forget(socket: Socket): boolean {
    this.#idle.delete(socket)
    this.#unread -= this.#answering.get(socket) ?? 0
    return this.#answering.delete(socket)
  }
}

/** Finds the TCP connection below a TLS one, to which Node has no reference: both have the same addresses. */
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

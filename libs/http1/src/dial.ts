import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls'
import { type Clock, DeadlineError, deadline, onAbort } from '@csi-sidecars/base'
import { dialError, dialTimeout, handshakeError, handshakeTimeout } from './network-error.ts'

/** Opens one connection to the server, ready for the first request. Rejects with a NetworkError. */
export type Dial = (signal?: AbortSignal) => Promise<Socket>

/** A host and a port to connect to. */
export interface Address {
  readonly host: string
  readonly port: number
}

/** Opens a byte stream to an address, directly or through a proxy. */
export type OpenStream = (address: Address, signal: AbortSignal) => Promise<Socket>

/** Returns the options of a TLS handshake. Called before each handshake, because certificates rotate. */
export type TlsMaterial = () => ConnectionOptions | Promise<ConnectionOptions>

/** Everything that one connection needs: the address, the way to it and TLS. */
export interface DialOptions {
  readonly address: Address
  readonly open: OpenStream
  /** The TLS options. Undefined if the server uses plain HTTP. */
  readonly tls: TlsMaterial | undefined
  readonly clock: Clock
}

const CONNECT_TIMEOUT_MS = 30_000
const HANDSHAKE_TIMEOUT_MS = 10_000
/** The idle time before TCP keep-alive probes a connection, to notice a peer that has vanished. */
const KEEP_ALIVE_DELAY_MS = 30_000

export function dialer({ address, open, tls, clock }: DialOptions): Dial {
  /** The last TLS session, which the next handshake resumes to save time. */
  let session: Buffer | undefined
  const connect = (signal?: AbortSignal): Promise<Socket> =>
    withTimeLimit(
      { clock, ms: CONNECT_TIMEOUT_MS, signal, timeoutError: () => dialTimeout(address.host, address.port) },
      (limited) => open(address, limited),
    )
  const secure = async (socket: Socket, signal?: AbortSignal): Promise<Socket> => {
    const options: ConnectionOptions = { ...tlsOptions(address, await tls?.()), ...(session && { session }) }
    return withTimeLimit({ clock, ms: HANDSHAKE_TIMEOUT_MS, signal, timeoutError: handshakeTimeout }, (limited) =>
      handshake(connectTls({ ...options, socket }), limited, (fresh) => {
        session = fresh
      }),
    )
  }
  return async (signal) => {
    const socket = await connect(signal)
    socket.setNoDelay(true)
    socket.setKeepAlive(true, KEEP_ALIVE_DELAY_MS)
    if (tls === undefined) return socket
    try {
      return await secure(socket, signal)
    } catch (error) {
      session = undefined
      socket.destroy()
      throw error
    }
  }
}

export const openTcp: OpenStream = ({ host, port }, signal) => {
  const socket = connectTcp({ host, port })
  return whenReady(socket, 'connect', { signal, describe: (error) => dialError(error, host, port) })
}

async function handshake(
  socket: TLSSocket,
  signal: AbortSignal,
  onSession: (session: Buffer) => void,
): Promise<TLSSocket> {
  socket.on('session', onSession)
  return whenReady(socket, 'secureConnect', { signal, describe: handshakeError })
}

/** Resolves with the socket when the socket emits `event`. An earlier error, end or abort destroys the socket. */
export function whenReady<S extends Socket>(
  socket: S,
  event: string,
  { signal, describe }: { readonly signal: AbortSignal; readonly describe: (error: unknown) => Error },
): Promise<S> {
  return new Promise((resolve, reject) => {
    const settle = (finish: () => void): void => {
      socket.off(event, onReady).off('error', onError).off('close', onClose)
      removeAbortListener()
      finish()
    }
    const fail = (reason: unknown): void =>
      settle(() => {
        // A destroyed socket may still report an error. Without a listener the error would end the process.
        socket.on('error', () => undefined)
        socket.destroy()
        reject(reason)
      })
    const onReady = (): void => settle(() => resolve(socket))
    const onError = (error: unknown): void => fail(describe(error))
    const onClose = (): void => fail(describe(new Error('EOF')))
    const giveUp = (): void => fail(signal.reason)
    socket.on(event, onReady).on('error', onError).on('close', onClose)
    const removeAbortListener = onAbort(signal, giveUp)
    if (signal.aborted) giveUp()
  })
}

interface TimeLimit {
  readonly clock: Clock
  readonly ms: number
  readonly signal: AbortSignal | undefined
  /** Returns the error of a connection that was not open within the time limit. */
  timeoutError(): Error
}

async function withTimeLimit<T>(limit: TimeLimit, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  using scope = deadline(limit.clock, limit.ms, { operation: 'connect', signal: limit.signal })
  try {
    return await run(scope.signal)
  } catch (error) {
    throw error === scope.signal.reason && error instanceof DeadlineError ? limit.timeoutError() : error
  }
}

function tlsOptions(address: Address, material: ConnectionOptions | undefined): ConnectionOptions {
  // Server name indication does not allow IP addresses. For an address, Node checks the certificate by `host`.
  const servername = material?.servername ?? (isIP(address.host) ? undefined : address.host)
  return {
    ALPNProtocols: ['http/1.1'],
    host: address.host,
    ...material,
    ...(servername === undefined ? {} : { servername }),
  }
}

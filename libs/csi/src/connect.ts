import { Backoff, type Clock, DeadlineError, deadline, onAbort } from '@csi-sidecars/base'
import type { Logger } from '@csi-sidecars/telemetry'
import { Channel, type ChannelOptions, connectivityState, setLogger } from '@grpc/grpc-js'
import { type CallReporting, type Connection, GrpcConnection, SocketCredentials } from './connection.ts'
import { ConnectError, whyUnreachable } from './errors/rpc-error.ts'
import { decodeStatusMessageAsUtf8 } from './headers.ts'
import type { OperationMetrics } from './operation-metrics.ts'

const UNIX = 'unix://'

/** An address that is no unix socket. The text is upstream's, which speaks of its own implementation. */
export class AddressError extends Error {
  override readonly name = 'AddressError'

  constructor() {
    super('OnConnectionLoss callback only supported for unix:// addresses')
  }
}

/** A unix socket as it is printed (`unix:///csi/csi.sock`), from that form or from its bare path. */
export function socketAddressOf(address: string): string {
  if (address.startsWith('/')) return UNIX + address
  if (address.startsWith(UNIX)) return address
  throw new AddressError()
}

/**
 * Returns the path of the socket. Leading slashes become one, because grpc-js reads the first part of `//a/b` as a
 * host.
 */
export function pathOf(socketAddress: string): string {
  return socketAddress.slice(UNIX.length).replace(/^\/+/, '/')
}

export interface ConnectOptions extends CallReporting {
  /** `/csi/csi.sock` or `unix:///csi/csi.sock`. */
  readonly address: string
  /** How long to try; without it 30 s. Infinity: until the signal is aborted. */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal | undefined
}

const CONNECT_MS = 30_000
const STILL_CONNECTING_MS = 10_000
/**
 * The time after which an attempt is abandoned. grpc-js waits forever for a peer that accepts and then sends nothing.
 */
const ATTEMPT_MS = 5_000
const FIRST_PAUSE_MS = 100
/** The longest pause between attempts. It is short because a local attempt is cheap and all work waits for it. */
const LONGEST_PAUSE_MS = 250

const CHANNEL_OPTIONS: ChannelOptions = {
  // grpc-js must not send a call twice. The driver may have been replaced between the two.
  'grpc.enable_retries': 0,
  // The longest time that a timer accepts. No connection is closed because it is idle.
  'grpc.client_idle_timeout_ms': 2 ** 31 - 1,
  // ListVolumes of a large back end exceeds the usual 4 MiB.
  'grpc.max_receive_message_length': 64 * 1024 * 1024,
  'grpc.enable_channelz': 0,
  'grpc.enable_http_proxy': 0,
}

/**
 * Connects to the driver's unix socket, trying again for as long as it takes up to the limit.
 * Throws AddressError for anything but a unix socket, ConnectError when the limit is over, and the signal's
 * reason when that is aborted.
 */
export async function connect(options: ConnectOptions): Promise<Connection> {
  const { clock, log, timeoutMs = CONNECT_MS, signal } = options
  const address = socketAddressOf(options.address)
  decodeStatusMessageAsUtf8()
  logGrpcBy(log)
  log.v(5)?.info('Connecting', { address })
  const path = pathOf(address)
  const stopLogging = logPeriodically(clock, STILL_CONNECTING_MS, async (stopped) => {
    const lastError = await whyUnreachable(path)
    if (!stopped()) log.info('Still connecting', { address, lastError })
  })
  using limit = deadline(clock, timeoutMs, { what: 'connecting to the CSI driver', signal })
  try {
    const channel = await firstChannel(`unix:${path}`, clock, limit.signal)
    return new GrpcConnection(address, channel, options)
  } catch (error) {
    if (error instanceof DeadlineError) throw new ConnectError(await whyUnreachable(path), error)
    throw error
  } finally {
    stopLogging()
  }
}

/** One channel an attempt, so that nothing of a failed attempt is left and the pauses are ours. */
async function firstChannel(target: string, clock: Clock, signal: AbortSignal): Promise<Channel> {
  const pauses = new Backoff({ initialMs: FIRST_PAUSE_MS, maxMs: LONGEST_PAUSE_MS })
  for (;;) {
    signal.throwIfAborted()
    const credentials = new SocketCredentials()
    const channel = new Channel(target, credentials, CHANNEL_OPTIONS)
    if (await becomesReady(channel, clock, signal)) return channel
    channel.close()
    credentials.destroySocket()
    await clock.sleep(pauses.next(), signal)
  }
}

/** False when the attempt failed, took too long, or was called off. */
function becomesReady(channel: Channel, clock: Clock, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    let settled = false
    const settle = (ready: boolean): void => {
      settled = true
      cancelTimer()
      ignoreAbort()
      resolve(ready)
    }
    const fail = (): void => settle(false)
    const cancelTimer = clock.schedule(ATTEMPT_MS, fail)
    const ignoreAbort = onAbort(signal, fail)
    const look = (): void => {
      if (settled) return // closing the channel reports a change too, and asking again would revive it
      const state = channel.getConnectivityState(true)
      if (state === connectivityState.READY) settle(true)
      else if (state === connectivityState.TRANSIENT_FAILURE) settle(false)
      else channel.watchConnectivityState(state, Number.POSITIVE_INFINITY, look)
    }
    look()
  })
}

function logPeriodically(clock: Clock, ms: number, log: (stopped: () => boolean) => Promise<void>): () => void {
  let stopped = false
  let cancel = (): void => undefined
  const arm = (): void => {
    cancel = clock.schedule(ms, () => {
      void log(() => stopped)
      arm()
    })
  }
  arm()
  return () => {
    stopped = true
    cancel()
  }
}

/** The maximum length of a part of a grpc-js line. It can hold a whole header of the driver. */
const LONGEST = 1000

/** Redirects the log lines of grpc-js from standard error to `log`. */
function logGrpcBy(log: Logger): void {
  const line = (parts: readonly unknown[]): string => parts.join(' ').slice(0, LONGEST)
  setLogger({
    error: (...parts: readonly unknown[]) => log.error(new Error(line(parts)), 'gRPC client'),
    info: (...parts: readonly unknown[]) => log.info('gRPC client', { text: line(parts) }),
    debug: (...parts: readonly unknown[]) => log.info('gRPC client', { text: line(parts) }),
  })
}

export interface MigratedOptions extends ConnectOptions {
  readonly operations: OperationMetrics
  readonly driverName: string
}

/**
 * Replaces the connection of a driver with an in-tree ancestor. All later calls are counted with the label `migrated`.
 * The caller must probe the driver again.
 */
export async function connectMigrated(first: Connection, options: MigratedOptions): Promise<Connection> {
  options.operations.restartWithMigrated(options.driverName)
  const second = await connect(options)
  first.close()
  return second
}

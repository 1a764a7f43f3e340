import { Backoff, type Clock, DeadlineError, deadline, onAbort } from '@csi-sidecars/base'
import type { Logger } from '@csi-sidecars/telemetry'
import { Channel, type ChannelOptions, connectivityState, setLogger } from '@grpc/grpc-js'
import { type CallReporting, type Connection, GrpcConnection, SocketCredentials } from './connection.ts'
import { ConnectError, whyUnreachable } from './errors/rpc-error.ts'
import { decodeStatusMessageAsUtf8 } from './headers.ts'
import type { OperationMetrics } from './operation-metrics.ts'

/** The address and the time limit of a connection. */
export interface ConnectOptions extends CallReporting {
  /** The address of the driver: `/csi/csi.sock` or `unix:///csi/csi.sock`. */
  readonly address: string
  /** The milliseconds until `connect` gives up. Default: 30 s. Infinity: only on abort. */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal | undefined
}

/** How to connect to a driver that may serve migrated volumes. */
export interface MigratedOptions extends ConnectOptions {
  readonly operations: OperationMetrics
  readonly driverName: string
}

const UNIX = 'unix://'

/** The error for an address that is not a unix socket. The message is upstream's. */
export class AddressError extends Error {
  override readonly name = 'AddressError'

  constructor() {
    super('OnConnectionLoss callback only supported for unix:// addresses')
  }
}

/**
 * Returns the address in the form `unix:///csi/csi.sock`. Throws AddressError unless it is a URL or a path of a unix
 * socket.
 */
export function socketAddressOf(address: string): string {
  if (address.startsWith('/')) return UNIX + address
  if (address.startsWith(UNIX)) return address
  throw new AddressError()
}

/** Returns the path of the socket. It begins with one slash only, because grpc-js reads `a` in `//a/b` as a host. */
export function socketPathOf(socketAddress: string): string {
  return socketAddress.slice(UNIX.length).replace(/^\/+/, '/')
}

const DEFAULT_CONNECT_TIMEOUT_MS = 30_000
const LOG_INTERVAL_MS = 10_000
/** The time-out of one attempt: grpc-js waits forever if the other side accepts the connection but sends nothing. */
const ATTEMPT_TIMEOUT_MS = 5_000
const FIRST_PAUSE_MS = 100
/** The longest pause between attempts to connect. Attempts are cheap, and no call is possible without a connection. */
const MAX_PAUSE_MS = 250

const CHANNEL_OPTIONS: ChannelOptions = {
  // grpc-js must not retry calls, because another driver may listen on the socket by then.
  'grpc.enable_retries': 0,
  // An idle connection must stay open, so this is the longest time that a timer accepts.
  'grpc.client_idle_timeout_ms': 2 ** 31 - 1,
  // The answer to ListVolumes of a large back end exceeds the default of 4 MiB.
  'grpc.max_receive_message_length': 64 * 1024 * 1024,
  'grpc.enable_channelz': 0,
  'grpc.enable_http_proxy': 0,
}

/**
 * Connects to the unix socket of the driver. Retries until the time-out. Throws AddressError if the address is not a
 * unix socket, ConnectError after the time-out, and the reason of an aborted signal.
 */
export async function connect(options: ConnectOptions): Promise<Connection> {
  const { clock, log, timeoutMs = DEFAULT_CONNECT_TIMEOUT_MS, signal } = options
  const address = socketAddressOf(options.address)
  decodeStatusMessageAsUtf8()
  setGrpcLogger(log)
  log.v(5)?.info('Connecting', { address })
  const path = socketPathOf(address)
  const stopLogging = logPeriodically(clock, LOG_INTERVAL_MS, async (stopped) => {
    const lastError = await whyUnreachable(path)
    if (!stopped()) log.info('Still connecting', { address, lastError })
  })
  using limit = deadline(clock, timeoutMs, { operation: 'connecting to the CSI driver', signal })
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

/** Opens a new channel for each attempt, so that grpc-js keeps no state of failed attempts and adds no pauses. */
async function firstChannel(target: string, clock: Clock, signal: AbortSignal): Promise<Channel> {
  const pauses = new Backoff({ initialMs: FIRST_PAUSE_MS, maxMs: MAX_PAUSE_MS })
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

/** Reports whether the channel connects. False if the attempt fails, takes too long or is aborted. */
function becomesReady(channel: Channel, clock: Clock, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    let isSettled = false
    const settle = (ready: boolean): void => {
      isSettled = true
      cancelTimer()
      removeAbortListener()
      resolve(ready)
    }
    const fail = (): void => settle(false)
    const cancelTimer = clock.schedule(ATTEMPT_TIMEOUT_MS, fail)
    const removeAbortListener = onAbort(signal, fail)
    const checkState = (): void => {
      if (isSettled) return // closing the channel calls `checkState`, too, and the next line would reconnect it
      const state = channel.getConnectivityState(true)
      if (state === connectivityState.READY) settle(true)
      else if (state === connectivityState.TRANSIENT_FAILURE) settle(false)
      else channel.watchConnectivityState(state, Number.POSITIVE_INFINITY, checkState)
    }
    checkState()
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

/** The longest text of grpc-js in a log line. It may contain a whole header from the driver. */
const MAX_TEXT_LENGTH = 1000

/** Redirects the log lines of grpc-js from standard error to `log`. */
function setGrpcLogger(log: Logger): void {
  const line = (args: readonly unknown[]): string => args.join(' ').slice(0, MAX_TEXT_LENGTH)
  setLogger({
    error: (...args: readonly unknown[]) => log.error(new Error(line(args)), 'gRPC client'),
    info: (...args: readonly unknown[]) => log.info('gRPC client', { text: line(args) }),
    debug: (...args: readonly unknown[]) => log.info('gRPC client', { text: line(args) }),
  })
}

/**
 * Opens a new connection to a driver that has replaced an in-tree plugin, and closes the first connection. Metrics of
 * later calls have the label `migrated`. The caller must probe the driver again.
 */
export async function connectMigrated(first: Connection, options: MigratedOptions): Promise<Connection> {
  options.operations.restartWithMigrated(options.driverName)
  const second = await connect(options)
  first.close()
  return second
}

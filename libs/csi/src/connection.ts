import type { Socket } from 'node:net'
import { type Clock, onAbort } from '@csi-sidecars/base'
import type { UnaryMethod } from '@csi-sidecars/csi-proto'
import type { ActiveSpan, Logger, Tracer } from '@csi-sidecars/telemetry'
import { type Channel, ChannelCredentials, connectivityState } from '@grpc/grpc-js'
import { CODES, RpcError, unavailable } from './errors/rpc-error.ts'
import { NOT_GRPC, type OperationMetrics } from './operation-metrics.ts'
import { strippedJson } from './sanitize.ts'
import { withoutSecrets } from './secrets.ts'
import { type CallLimits, unaryCall } from './unary-call.ts'

/** The options of one call. */
export interface CallOptions extends CallLimits {
  /** True if the call concerns a translated in-tree volume. Only metrics use this. */
  readonly migrated?: boolean
  /** The logger of the run that makes the call. Its key-value pairs distinguish the calls of parallel runs. */
  readonly log?: Logger | undefined
  /** A check right before sending. If it throws, the call fails with its error. */
  readonly guard?: (() => void) | undefined
}

/** An object that sends calls to the driver: a connection, or a `Driver` that reconnects. */
export interface Caller {
  /** Calls one RPC, logs it at level 5 without secrets, counts it. Throws RpcError. */
  call<Q, R>(method: UnaryMethod<Q, R>, request: Q, options: CallOptions): Promise<R>
}

/** An established connection. It never reconnects, because another driver may listen on the socket by then. */
export interface Connection extends Caller {
  /** The address of the socket, for example `unix:///csi/csi.sock`. */
  readonly address: string
  /** Aborted when the driver disconnects, never by `close`. Running calls fail as Unavailable. */
  readonly lost: AbortSignal
  /** Closes the connection for new calls. Running calls continue. */
  close(): void
}

/** The log and the metrics of all calls of a connection. */
export interface CallReporting {
  readonly clock: Clock
  readonly log: Logger
  readonly operations?: OperationMetrics | undefined
  /** The longest response in a log line, in characters. 0 or less: no limit. */
  readonly maxLogLength?: number | undefined
  /** Records a span for each call of a traced run. */
  readonly tracer?: Tracer | undefined
}

/** The interval at which an idle connection is marked as used, because grpc-js closes it after 24 idle days. */
const KEEP_ALIVE_MS = 24 * 60 * 60 * 1000
/** The longest wait until grpc-js reports a lost connection. It first fails the calls on this connection. */
const MAX_LOSS_WAIT_MS = 100

export class GrpcConnection implements Connection {
  readonly address: string
  readonly #channel: Channel
  readonly #reporting: CallReporting
  readonly #lost = new AbortController()
  #closed = false
  /** The error of the call that broke the connection, for the log line that reports the loss. */
  #brokenBy: RpcError | undefined
  #cancelKeepAlive = (): void => undefined

  /** Takes a connected channel, and closes the channel when the connection ends. */
  constructor(address: string, channel: Channel, reporting: CallReporting) {
    this.address = address
    this.#channel = channel
    this.#reporting = reporting
    this.#keepAlive()
    if (channel.getConnectivityState(false) !== connectivityState.READY) this.#lose()
    else channel.watchConnectivityState(connectivityState.READY, Number.POSITIVE_INFINITY, () => this.#lose())
  }

  get lost(): AbortSignal {
    return this.#lost.signal
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#cancelKeepAlive()
    this.#channel.close()
  }

  async call<Q, R>(method: UnaryMethod<Q, R>, request: Q, options: CallOptions): Promise<R> {
    // A lost channel may reconnect to another driver, which has not been identified yet.
    if (this.#closed) throw unavailable(this.lost.aborted ? 'connection to the CSI driver lost' : 'connection closed')
    const { clock, log } = this.#reporting
    const verbose = (options.log ?? log).v(5)
    verbose?.info('GRPC call', { method: method.path, request: strippedJson(method.requestShape(), request as object) })
    const span = beginSpan(this.#reporting.tracer, method.path, request)
    const start = clock.monotonic()
    const report = (code: string): void => {
      const seconds = (clock.monotonic() - start) / 1000
      this.#reporting.operations?.observe(method.path, { code, seconds, migrated: options.migrated ?? false })
    }
    try {
      options.guard?.()
      const response = await unaryCall(
        this.#channel,
        { method, request },
        { ...options, clock, traceparent: span?.traceparent },
      )
      report('OK')
      span?.set({ [GRPC_CODE]: CODES.OK })
      span?.end()
      verbose?.info('GRPC response', { response: this.#responseText(method, response), err: null })
      return response
    } catch (thrown) {
      const error = withoutSecrets(thrown, request)
      report(error instanceof RpcError ? error.codeName : NOT_GRPC)
      if (error instanceof RpcError) span?.set({ [GRPC_CODE]: error.code })
      span?.end(error)
      verbose?.info('GRPC response', { response: '{}', err: error })
      if (error instanceof RpcError && error.origin === 'session') await this.#waitForLoss(error)
      throw error
    }
  }

  /** Waits until the driver is reported as lost, at most `MAX_LOSS_WAIT_MS`, so that a call fails only after this report. */
  async #waitForLoss(error: RpcError): Promise<void> {
    if (this.#closed) return
    this.#brokenBy ??= error
    const { promise, resolve } = Promise.withResolvers<void>()
    const cancel = this.#reporting.clock.schedule(MAX_LOSS_WAIT_MS, resolve)
    const ignoreLoss = onAbort(this.lost, resolve)
    await promise
    cancel()
    ignoreLoss()
  }

  #responseText<Q, R>(method: UnaryMethod<Q, R>, response: R): string {
    const text = strippedJson(method.responseShape(), response as object)
    const maxLength = this.#reporting.maxLogLength ?? 0
    if (maxLength <= 0 || text.length <= maxLength) return text
    return `${text.slice(0, maxLength)} [response body too large, log capped to ${maxLength} chars]`
  }

  #lose(): void {
    if (this.#closed) return
    this.#reporting.log.error(this.#brokenBy, 'Lost connection', { address: this.address })
    // Closing the channel keeps grpc-js from reconnecting, and ends calls that were not sent yet.
    queueMicrotask(() => this.#channel.close())
    this.#closed = true
    this.#cancelKeepAlive()
    this.#lost.abort(unavailable('connection to the CSI driver lost'))
  }

  #keepAlive(): void {
    this.#cancelKeepAlive = this.#reporting.clock.schedule(KEEP_ALIVE_MS, () => {
      this.#channel.getConnectivityState(true)
      this.#keepAlive()
    })
  }
}

const GRPC_CODE = 'rpc.grpc.status_code'

/** Begins the span of a call. It contains no fields of the request except the IDs of the volume and the node. */
function beginSpan(tracer: Tracer | undefined, path: string, request: unknown): ActiveSpan | undefined {
  if (tracer === undefined) return undefined
  const [, service = '', method = ''] = path.split('/')
  const { volumeId, nodeId } = request as { readonly volumeId?: string; readonly nodeId?: string }
  return tracer.begin(`${service}/${method}`, {
    'rpc.system': 'grpc',
    'rpc.service': service,
    'rpc.method': method,
    ...(volumeId !== undefined && { 'csi.volume.id': volumeId }),
    ...(nodeId !== undefined && { 'csi.node.id': nodeId }),
  })
}

type SecureConnector = ReturnType<ChannelCredentials['_createSecureConnector']>

/**
 * Insecure credentials that keep the socket of their channel, so that an abandoned attempt can destroy the socket. A
 * closed channel would keep the socket open while it waits for the peer.
 */
export class SocketCredentials extends ChannelCredentials {
  readonly #insecure = ChannelCredentials.createInsecure()
  #socket: Socket | undefined
  #destroyed = false

  override _isSecure(): boolean {
    return false
  }

  /** Equal only to itself: for equal credentials grpc-js would reuse the stuck socket of an earlier attempt. */
  override _equals(other: ChannelCredentials): boolean {
    return other === this
  }

  override _createSecureConnector(
    ...parameters: Parameters<ChannelCredentials['_createSecureConnector']>
  ): SecureConnector {
    const connector = this.#insecure._createSecureConnector(...parameters)
    const connect = (socket: Socket): ReturnType<SecureConnector['connect']> => {
      this.#socket = socket
      if (this.#destroyed) socket.destroy()
      return connector.connect(socket)
    }
    return { ...connector, connect }
  }

  /** Destroys the socket, even if the channel opens it later. */
  destroySocket(): void {
    this.#destroyed = true
    this.#socket?.destroy()
  }
}

import { Backoff, CancelledError, type Clock, inPhase, scope, unreachable } from '@csi-sidecars/base'
import type { UnaryMethod } from '@csi-sidecars/csi-proto'
import type { Logger } from '@csi-sidecars/telemetry'
import type { DriverCapabilities } from './capabilities.ts'
import type { Caller, CallOptions, Connection } from './connection.ts'
import { unavailable } from './errors/rpc-error.ts'
import { type DecisiveCapabilities, type DriverIdentity, whyIncompatible } from './probe.ts'

/** The message of the Go sidecars in the log and the termination log when they exit after a lost connection. */
export const LOST_CONNECTION_EXITING = 'Lost connection to CSI driver, exiting'

export type DriverEvent =
  /** The connection is lost. Calls fail as Unavailable until `ready`. */
  | { readonly type: 'lost' }
  /** The same driver is connected again. Its capabilities were read again. */
  | { readonly type: 'ready'; readonly lostForMs: number }
  /** The driver came back with a change that this process cannot handle. No further events come. */
  | { readonly type: 'failed'; readonly error: Error }

/**
 * The CSI driver, across all connections to it. A process uses one `Driver` even if the driver restarts.
 *
 * Guarantees:
 * - After a lost connection it reconnects, until it succeeds or `close` is called. The process does not end.
 * - Before it accepts calls again, it reads the name and the capabilities of the driver again.
 * - It does not retry calls.
 *
 * Caveats:
 * - While the connection is lost, calls fail at once. They do not wait for the next connection.
 * - After a reconnect, capabilities outside `decisiveCapabilities` may have changed.
 * - If the name or a decisive capability has changed, the state is `failed` and there are no further reconnects.
 *
 * Errors:
 * - `call` throws RpcError. If the state is not `ready`, the code is Unavailable.
 * - `failure` resolves with the reason of the state `failed`.
 */
export interface Driver extends Caller {
  readonly name: string
  /** The capabilities that the driver last reported. */
  readonly capabilities: DriverCapabilities
  readonly state: 'ready' | 'lost' | 'failed' | 'closed'
  /** The milliseconds since the connection was lost. 0 unless the state is `lost`. */
  readonly lostForMs: number
  /** Resolves with the reason if the state becomes `failed`. Otherwise it stays pending. */
  readonly failure: Promise<Error>
  /** Adds a listener, called synchronously after the state has changed to lost. */
  subscribe(listener: (event: DriverEvent) => void): () => void
  close(): void
}

/** The first connection of a driver, and the way to later ones. */
export interface ReconnectingDriverOptions {
  readonly clock: Clock
  readonly log: Logger
  /** A connected and identified connection. The `Driver` closes it. */
  readonly connection: Connection
  readonly identity: DriverIdentity
  /** The capabilities on which the process relies. If one of them changes, the state of the driver becomes `failed`. */
  readonly decisiveCapabilities?: DecisiveCapabilities
  /** Opens a new connection. The `Driver` calls this function again after a failure. */
  reconnect(signal: AbortSignal): Promise<Connection>
  /** Probes the driver and reads its name and capabilities, as at the start. */
  identify(connection: Connection, signal: AbortSignal): Promise<DriverIdentity>
}

/** The state of the driver. Calls are possible only if the kind is `ready`. */
type State =
  | { readonly kind: 'ready'; readonly connection: Connection; readonly identity: DriverIdentity }
  | { readonly kind: 'lost'; readonly since: number; readonly identity: DriverIdentity }
  | { readonly kind: 'failed'; readonly error: Error; readonly identity: DriverIdentity }
  | { readonly kind: 'closed'; readonly identity: DriverIdentity }

const FIRST_PAUSE_MS = 100
const MAX_PAUSE_MS = 1_000
/** If a new connection is lost within this time, the next attempt to connect starts after a pause. */
const MIN_STABLE_MS = 10_000

/** Returns a driver that reconnects after a loss, and reads its name and capabilities before it accepts calls again. */
export function createDriver(options: ReconnectingDriverOptions): Driver {
  return new ReconnectingDriver(options)
}

class ReconnectingDriver implements Driver {
  readonly failure: Promise<Error>
  readonly #options: ReconnectingDriverOptions
  readonly #listeners = new Set<(event: DriverEvent) => void>()
  readonly #lifetime = scope()
  readonly #fail: (error: Error) => void
  readonly #pauses = new Backoff({ initialMs: FIRST_PAUSE_MS, maxMs: MAX_PAUSE_MS })
  #returnedAt = Number.NEGATIVE_INFINITY
  #state: State

  constructor(options: ReconnectingDriverOptions) {
    this.#options = options
    const { promise, resolve } = Promise.withResolvers<Error>()
    this.failure = promise
    this.#fail = resolve
    const { connection, identity } = options
    this.#state = { kind: 'ready', connection, identity }
    this.#watch(connection)
  }

  get name(): string {
    return this.#state.identity.name
  }

  get capabilities(): DriverCapabilities {
    return this.#state.identity.capabilities
  }

  get state(): State['kind'] {
    return this.#state.kind
  }

  get lostForMs(): number {
    return this.#state.kind === 'lost' ? this.#options.clock.monotonic() - this.#state.since : 0
  }

  async call<Q, R>(method: UnaryMethod<Q, R>, request: Q, options: CallOptions): Promise<R> {
    const state = this.#state
    switch (state.kind) {
      case 'ready':
        return state.connection.call(method, request, options)
      case 'lost':
        throw unavailable('connection to the CSI driver lost')
      case 'failed':
        throw unavailable(state.error.message)
      case 'closed':
        throw unavailable('connection closed')
      default:
        return unreachable(state)
    }
  }

  subscribe(listener: (event: DriverEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  close(): void {
    const { kind, identity } = this.#state
    if (kind === 'closed') return
    if (this.#state.kind === 'ready') this.#state.connection.close()
    this.#state = { kind: 'closed', identity }
    this.#lifetime.abort(new CancelledError('the connection to the CSI driver was closed'))
  }

  #watch(connection: Connection): void {
    const lose = (): void => this.#lose(connection)
    if (connection.lost.aborted) lose()
    else connection.lost.addEventListener('abort', lose, { once: true, signal: this.#lifetime.signal })
  }

  #lose(connection: Connection): void {
    connection.close()
    const { identity } = this.#state
    this.#state = { kind: 'lost', since: this.#options.clock.monotonic(), identity }
    this.#notify({ type: 'lost' })
    this.#recover(identity).catch((error: unknown) => {
      if (!this.#lifetime.signal.aborted) this.#options.log.error(error, 'Reconnecting to the CSI driver has ended')
    })
  }

  /** Resolves when the driver is `ready` or `failed`. Rejects after `close`. */
  async #recover(before: DriverIdentity): Promise<void> {
    const { clock } = this.#options
    const pause = (): Promise<void> => clock.sleep(this.#pauses.next(), this.#lifetime.signal)
    if (clock.monotonic() - this.#returnedAt < MIN_STABLE_MS) await pause()
    else this.#pauses.reset()
    while (!(await this.#tryOnce(before))) await pause()
  }

  /** Tries once to reconnect. Returns false if another attempt is needed. */
  async #tryOnce(before: DriverIdentity): Promise<boolean> {
    const { log, decisiveCapabilities } = this.#options
    let connection: Connection | undefined
    try {
      connection = await this.#options.reconnect(this.#lifetime.signal)
      const identity = await this.#identify(connection)
      this.#lifetime.signal.throwIfAborted()
      connection.lost.throwIfAborted()
      const incompatible = whyIncompatible(before, identity, decisiveCapabilities)
      if (incompatible === undefined) this.#returnToReady(connection, identity)
      else this.#giveUp(connection, new Error(incompatible))
      return true
    } catch (error) {
      connection?.close()
      if (!this.#lifetime.signal.aborted) log.error(error, 'Failed to reconnect to the CSI driver')
      return false
    }
  }

  /** Identifies the driver. Rejects as soon as the new connection is lost. */
  async #identify(connection: Connection): Promise<DriverIdentity> {
    using attempt = scope(this.#lifetime.signal, connection.lost)
    return await this.#options.identify(connection, attempt.signal)
  }

  #returnToReady(connection: Connection, identity: DriverIdentity): void {
    const lostForMs = this.lostForMs
    this.#returnedAt = this.#options.clock.monotonic()
    this.#state = { kind: 'ready', connection, identity }
    this.#options.log.info('CSI driver is back', { driver: identity.name, lostForSeconds: lostForMs / 1000 })
    this.#watch(connection)
    this.#notify({ type: 'ready', lostForMs })
  }

  #giveUp(connection: Connection, error: Error): void {
    connection.close()
    this.#state = { kind: 'failed', error, identity: this.#state.identity }
    this.#options.log.error(error, 'CSI driver has changed')
    this.#fail(error)
    this.#notify({ type: 'failed', error })
  }

  /** Calls all listeners. An error of a listener is logged, and does not affect other listeners or the driver. */
  #notify(event: DriverEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event)
      } catch (error) {
        this.#options.log.error(error, 'Listener of CSI driver events failed', { event: event.type })
      }
    }
  }
}

/**
 * Wraps a driver. `guard` runs before each call, and again right before the request is sent. If it throws, the call
 * fails. During a call, the run of its signal has the phase `calling`. `log` is the default logger of calls.
 */
export function driverWhileLeading(driver: Driver, guard: () => void, log?: Logger): Driver {
  return {
    get name() {
      return driver.name
    },
    get capabilities() {
      return driver.capabilities
    },
    get state() {
      return driver.state
    },
    get lostForMs() {
      return driver.lostForMs
    },
    failure: driver.failure,
    call: async (method, request, options) => {
      guard()
      return inPhase('calling', options.signal, () =>
        driver.call(method, request, { ...(log && { log }), ...options, guard }),
      )
    },
    subscribe: (listener) => driver.subscribe(listener),
    close: () => driver.close(),
  }
}

import { createHash } from 'node:crypto'
import { type Clock, DeadlineError, deadline } from '@csi-sidecars/base'
import type { UnaryMethod } from '@csi-sidecars/csi-proto'
import type { CallOptions, Connection } from './connection.ts'
import { deadlineExceeded, RpcError, unavailable } from './errors/rpc-error.ts'

/** More requests than ever run at one time. */
const MOST_SUSPECTS = 1000

export interface IsolationOptions {
  readonly clock: Clock
  /** Another connection to the driver. */
  open(signal: AbortSignal): Promise<Connection>
}

interface Call<Q, R> {
  readonly method: UnaryMethod<Q, R>
  readonly request: Q
  readonly options: CallOptions
}

/**
 * An answer that breaks HTTP/2 ends every call of its connection, and nothing says which call it was the answer to. All
 * of them are under suspicion from then on: when they are repeated, each gets a connection of its own, until it is
 * answered. So the one that will break its connection again takes no other with it, and fails alone.
 */
export class Isolation {
  readonly #options: IsolationOptions
  readonly #suspects = new Set<string>()

  constructor(options: IsolationOptions) {
    this.#options = options
  }

  /** `shared` is the driver's connection. */
  async call<Q, R>(shared: Connection, call: Call<Q, R>): Promise<R> {
    const suspect = this.#suspects.size === 0 ? undefined : keyOf(call)
    if (suspect !== undefined && this.#suspects.has(suspect)) return this.#callAlone(suspect, call)
    const { method, request, options } = call
    try {
      return await shared.call(method, request, options)
    } catch (error) {
      if (brokeSession(error) && this.#suspects.size < MOST_SUSPECTS) this.#suspects.add(keyOf(call))
      throw error
    }
  }

  async #callAlone<Q, R>(key: string, { method, request, options }: Call<Q, R>): Promise<R> {
    using limit = deadline(this.#options.clock, options.timeoutMs, {
      what: 'a call on a connection of its own',
      signal: options.signal,
    })
    const own = await this.#options.open(limit.signal).catch((cause: unknown) => {
      if (cause instanceof DeadlineError) throw deadlineExceeded(cause)
      throw unavailable('no connection to the CSI driver')
    })
    try {
      const response = await own.call(method, request, { ...options, signal: limit.signal })
      this.#suspects.delete(key)
      return response
    } catch (error) {
      if (error instanceof RpcError && error.origin !== 'session') this.#suspects.delete(key)
      throw error
    } finally {
      own.close()
    }
  }
}

function brokeSession(error: unknown): boolean {
  return error instanceof RpcError && error.origin === 'session'
}

/** Says nothing about secrets in the request. */
function keyOf<Q, R>({ method, request }: Call<Q, R>): string {
  return createHash('sha256').update(method.path).update(method.requestSerialize(request)).digest('base64')
}

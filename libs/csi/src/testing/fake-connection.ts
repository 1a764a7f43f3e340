import type { UnaryMethod } from '@csi-sidecars/csi-proto'
import type { CallOptions, Connection } from '../connection.ts'
import { unavailable } from '../errors/rpc-error.ts'

export type Reply = (options: CallOptions) => unknown

/** A connection without a socket. It answers calls from `replies`, and `lose` ends it. */
export class FakeConnection implements Connection {
  readonly address = 'unix:///fake.sock'
  /** The names of the RPCs in the order in which they were called. */
  readonly calls: string[] = []
  readonly #replies: Readonly<Record<string, Reply>>
  readonly #lost = new AbortController()
  closed = false

  constructor(replies: Readonly<Record<string, Reply>> = {}) {
    this.#replies = replies
  }

  get lost(): AbortSignal {
    return this.#lost.signal
  }

  async call<Q, R>(method: UnaryMethod<Q, R>, _request: Q, options: CallOptions): Promise<R> {
    const name = method.path.slice(method.path.lastIndexOf('/') + 1)
    this.calls.push(name)
    const reply = await this.#replies[name]?.(options)
    return method.responseDeserialize(method.responseSerialize((reply ?? {}) as R))
  }

  lose(): void {
    this.#lost.abort(unavailable('connection to the CSI driver lost'))
  }

  close(): void {
    this.closed = true
  }
}

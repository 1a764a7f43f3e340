import type { Clock } from '@csi-sidecars/base'
import { ConnectionPool, type Dial } from '@csi-sidecars/http1'
import { AdaptivePolicy, BucketPolicy, MAX_RUNNING } from '../flow/adaptive-policy.ts'
import { FlowGate, type Permit } from '../flow/flow-gate.ts'
import type { FlowOptions, FlowPolicy } from '../flow/policy.ts'

/** The limits of one lane of requests. With `perGroup`, each API group has a policy of its own. */
export interface RequestLaneOptions {
  readonly clock: Clock
  readonly dial: Dial
  /** The number of connections that may be open at a time. */
  readonly maxConnections: number
  /** The longest wait before a retry. A call with a longer demand fails. */
  readonly maxWaitMs: number
  createPolicy(): FlowPolicy
  readonly perGroup: boolean
}

/** The lanes of a client. Requests for the Lease never wait behind other work. */
export interface RequestLanes {
  readonly work: RequestLane
  readonly lease: RequestLane
  /** The maximum of parallel requests of the work lane. Undefined with a rate. */
  concurrencyLimit?(): number
}

/** The flow control and the connections of a lane. Its requests do not wait for requests of other lanes. */
export class RequestLane {
  readonly pool: ConnectionPool
  readonly #options: RequestLaneOptions
  readonly #gates = new Map<string, FlowGate>()

  constructor(options: RequestLaneOptions) {
    this.#options = options
    this.pool = new ConnectionPool(options)
  }

  get maxWaitMs(): number {
    return this.#options.maxWaitMs
  }

  /** Returns a permit for one request to an API group, or its promise. */
  enter(group: string, signal?: AbortSignal): Permit | Promise<Permit> {
    return this.#gate(group).enter(signal)
  }

  /** Like `enter`, but first waits, at most `maxMs`, until the flow control has room to spare. */
  enterInBackground(group: string, signal?: AbortSignal, maxMs?: number): Promise<Permit> {
    return this.#gate(group).enterInBackground(signal, maxMs)
  }

  /** Like `enter`, for a request that the server has refused. */
  enterAgain(group: string, waitMs: number, signal?: AbortSignal): Promise<Permit> {
    return this.#gate(group).enterAgain(waitMs, signal)
  }

  #gate(group: string): FlowGate {
    const name = this.#options.perGroup ? group : ''
    let gate = this.#gates.get(name)
    if (gate === undefined) {
      gate = new FlowGate(this.#options.clock, this.#options.createPolicy())
      this.#gates.set(name, gate)
    }
    return gate
  }
}

/** The maximum number of connections for the lease: several, because a renewal may hang when the next is due. */
const LEASE_CONNECTIONS = 4
/** The longest wait inside the client. For longer waits the controller queues the key, so that no worker is blocked. */
const MAX_WORK_WAIT_MS = 30_000
/** The longest wait of a lease request. The holder of the lease has deadlines and decides itself when to retry. */
const MAX_LEASE_WAIT_MS = 1000

/** Creates the lanes. Limits from flags apply to each lane separately. Adaptive limits apply only to `work`. */
export function createLanes(flow: FlowOptions, options: { clock: Clock; dial: Dial }): RequestLanes {
  const { clock } = options
  const bucket = (qps: number, burst: number): FlowPolicy => new BucketPolicy({ qps, burst, now: clock.monotonic() })
  const work = { ...options, maxConnections: MAX_RUNNING, maxWaitMs: MAX_WORK_WAIT_MS }
  const lease = { ...options, maxConnections: LEASE_CONNECTIONS, maxWaitMs: MAX_LEASE_WAIT_MS }
  if (flow.kind === 'bucket') {
    const { qps, burst, perGroup } = flow
    const limits = { createPolicy: () => bucket(qps, burst), perGroup }
    return { work: new RequestLane({ ...work, ...limits }), lease: new RequestLane({ ...lease, ...limits }) }
  }
  const adaptive = new AdaptivePolicy()
  return {
    work: new RequestLane({ ...work, createPolicy: () => adaptive, perGroup: false }),
    lease: new RequestLane({ ...lease, createPolicy: () => bucket(-1, 0), perGroup: false }),
    concurrencyLimit: () => adaptive.limit,
  }
}

import type { Clock } from '@csi-sidecars/base'
import { AdaptivePolicy } from './flow/adaptive-policy.ts'
import { BucketPolicy } from './flow/bucket-policy.ts'
import { FlowGate, type Permit } from './flow/flow-gate.ts'
import type { FlowOptions } from './flow/flow-options.ts'
import type { FlowPolicy } from './flow/policy.ts'
import type { Dial } from './http/dial.ts'
import { ConnectionPool } from './http/pool.ts'

export interface LaneOptions {
  readonly clock: Clock
  readonly dial: Dial
  readonly maxConnections: number
  /** However long the server asks to wait. */
  readonly longestPauseMs: number
  policy(): FlowPolicy
  readonly perGroup: boolean
}

/** Requests that share flow control and connections, and that wait for nobody else. */
export class RequestLane {
  readonly pool: ConnectionPool
  readonly #options: LaneOptions
  readonly #gates = new Map<string, FlowGate>()
  #pausedUntil = Number.NEGATIVE_INFINITY

  constructor(options: LaneOptions) {
    this.#options = options
    this.pool = new ConnectionPool(options)
  }

  get longestPauseMs(): number {
    return this.#options.longestPauseMs
  }

  /** Permission to send one request about an API group. */
  enter(group: string, signal?: AbortSignal): Permit | Promise<Permit> {
    return this.#gate(group).enter(signal)
  }

  /** The same, once there is some to spare, or after `maxMs` in turn with others. */
  enterSpare(group: string, signal?: AbortSignal, maxMs?: number): Promise<Permit> {
    return this.#gate(group).enterSpare(signal, maxMs)
  }

  /** The server asked for patience: every request of the lane heeds it, whatever it is about. */
  pause(ms: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#options.clock.monotonic() + ms)
    for (const gate of this.#gates.values()) gate.pause(ms)
  }

  get paused(): boolean {
    return this.#pauseLeft() > 0
  }

  /** Resolves when no pause is on: for requests that are not subject to the rate, or have their permit already. */
  async unpaused(signal?: AbortSignal): Promise<void> {
    for (let left = this.#pauseLeft(); left > 0; left = this.#pauseLeft()) await this.#options.clock.sleep(left, signal)
  }

  #pauseLeft(): number {
    return this.#pausedUntil - this.#options.clock.monotonic()
  }

  #gate(group: string): FlowGate {
    const name = this.#options.perGroup ? group : ''
    let gate = this.#gates.get(name)
    if (gate === undefined) {
      gate = new FlowGate(this.#options.clock, this.#options.policy())
      gate.pause(this.#pauseLeft())
      this.#gates.set(name, gate)
    }
    return gate
  }
}

/** As many as there are workers in the largest deployments; they are opened only when that many requests run. */
const WORK_CONNECTIONS = 100
/** A renewal may still hang when the next one is due. */
const LEASE_CONNECTIONS = 4
/** One answer must not stop everything for an hour: after so long somebody tries again. */
const WORK_PAUSE_MS = 30_000
/** The lease has deadlines of its own, and its holder knows better when to try again. */
const LEASE_PAUSE_MS = 1000

export interface Lanes {
  readonly work: RequestLane
  readonly lease: RequestLane
}

/** With fixed limits the lease has the same limits for itself; with adaptive ones it has none. */
export function createLanes(flow: FlowOptions, options: { clock: Clock; dial: Dial }): Lanes {
  const { clock, dial } = options
  const bucket = (qps: number, burst: number): FlowPolicy => new BucketPolicy({ qps, burst, now: clock.monotonic() })
  const policies =
    flow.kind === 'bucket'
      ? { work: () => bucket(flow.qps, flow.burst), lease: () => bucket(flow.qps, flow.burst) }
      : { work: () => new AdaptivePolicy(clock.monotonic()), lease: () => bucket(-1, 0) }
  const perGroup = flow.kind === 'bucket' && flow.perGroup
  const shared = { clock, dial, perGroup }
  return {
    work: new RequestLane({
      ...shared,
      policy: policies.work,
      maxConnections: WORK_CONNECTIONS,
      longestPauseMs: WORK_PAUSE_MS,
    }),
    lease: new RequestLane({
      ...shared,
      policy: policies.lease,
      maxConnections: LEASE_CONNECTIONS,
      longestPauseMs: LEASE_PAUSE_MS,
    }),
  }
}

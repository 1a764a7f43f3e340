import { type Clock, deadline } from '@csi-sidecars/base'
import { isConflict, isNotFound, isTooManyRequests, type KubeClient } from '@csi-sidecars/kube-client'
import { LEASES, type Lease } from '@csi-sidecars/kube-types'
import {
  decideLease,
  heldLease,
  type LeaseDecision,
  type LeaseIdentity,
  newLease,
  recordOf,
  releasedLease,
  sameRecord,
} from './lease.ts'

/** The lease after our write, and when that write was sent. */
export interface LeasePut {
  readonly lease: Lease
  readonly sentAt: number
}

/** The longest wait that the server may ask for: all other candidates wait for the lease. */
const RELEASE_PAUSE_MS = 1000

/** Reads and writes the Lease, and remembers since when it is unchanged. */
export class LeaseHolder {
  readonly identity: LeaseIdentity
  readonly #client: KubeClient
  readonly #clock: Clock
  readonly #timeoutMs: number
  #seen: { readonly lease: Lease; readonly since: number } | undefined

  constructor(options: { client: KubeClient; identity: LeaseIdentity; clock: Clock; timeoutMs: number }) {
    this.identity = options.identity
    this.#client = options.client
    this.#clock = options.clock
    this.#timeoutMs = options.timeoutMs
  }

  /** Who holds the lease as far as we know; undefined before the first look and when there is none. */
  get holder(): string | undefined {
    return this.#seen && recordOf(this.#seen.lease).holder
  }

  /** The lease as last seen. */
  get lease(): Lease | undefined {
    return this.#seen?.lease
  }

  /** Takes a new state of the lease, from any source. */
  observe(lease: Lease | undefined): void {
    const before = this.#seen
    if (lease === undefined) this.#seen = undefined
    else if (before !== undefined && sameRecord(before.lease, lease)) this.#seen = { lease, since: before.since }
    else this.#seen = { lease, since: this.#clock.monotonic() }
  }

  decide(): LeaseDecision {
    return decideLease({
      me: this.identity.holder,
      now: this.#clock.monotonic(),
      seen: this.#seen && { record: recordOf(this.#seen.lease), since: this.#seen.since },
    })
  }

  /** Reads the lease. A kept connection may be dead unnoticed; a new one is not. */
  async look(signal: AbortSignal, options: { newConnection?: boolean } = {}): Promise<void> {
    const ref = { namespace: this.identity.namespace, name: this.identity.name }
    const lease = await this.#withTimeLimit(signal, (inner) =>
      this.#client.get(LEASES, ref, { ...options, signal: inner, lane: 'lease' }).catch((error: unknown) => {
        if (isNotFound(error)) return undefined
        throw error
      }),
    )
    signal.throwIfAborted()
    this.observe(lease)
  }

  /** Writes our identity, guarded by the version last seen. Returns when the request was sent: the lease is ours from then on. */
  async write(signal: AbortSignal): Promise<number> {
    return this.written(await this.put(signal))
  }

  /** Like `write`, for a caller that sends two requests and passes the first answer to `written`. */
  async put(signal: AbortSignal, timeoutMs = this.#timeoutMs): Promise<LeasePut> {
    const sentAt = this.#clock.monotonic()
    const now = this.#clock.now()
    const seen = this.#seen?.lease
    const request = (inner: AbortSignal): Promise<Lease> => {
      const options = { signal: inner, lane: 'lease' as const }
      return seen === undefined
        ? this.#client.create(LEASES, newLease(this.identity, now), options)
        : this.#client.replace(LEASES, heldLease(seen, this.identity, now), options)
    }
    return { lease: await this.#withTimeLimit(signal, request, timeoutMs), sentAt }
  }

  /** Takes the result of `put`. */
  written({ lease, sentAt }: LeasePut): number {
    this.observe(lease)
    return sentAt
  }

  /** Releases the lease, if it is still ours. After a conflict or a 429 it reads the lease and tries again. */
  async release(signal: AbortSignal): Promise<void> {
    for (;;) {
      try {
        await this.look(signal)
        if (this.#seen === undefined || this.holder !== this.identity.holder) return
        const lease = releasedLease(this.#seen.lease, this.identity, this.#clock.now())
        const written = await this.#withTimeLimit(signal, (inner) =>
          this.#client.replace(LEASES, lease, { signal: inner, lane: 'lease' }),
        )
        this.observe(written)
        return
      } catch (error) {
        if (isTooManyRequests(error)) await this.#clock.sleep(RELEASE_PAUSE_MS, signal)
        else if (!isConflict(error)) throw error
      }
    }
  }

  /** One request that hangs must not use up the time of all tries. */
  async #withTimeLimit<T>(
    signal: AbortSignal,
    request: (inner: AbortSignal) => Promise<T>,
    timeoutMs = this.#timeoutMs,
  ): Promise<T> {
    using limit = deadline(this.#clock, timeoutMs, { what: 'lease request', signal })
    return await request(limit.signal)
  }
}

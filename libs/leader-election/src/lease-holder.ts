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

/** The answer to a write of the Lease, and the time when the write was sent. */
export interface SentLease {
  readonly lease: Lease
  readonly sentAt: number
}

/** The pause after a 429 to a release. A longer Retry-After is ignored, because other candidates need the Lease. */
const RELEASE_PAUSE_MS = 1000

/** Reads and writes the Lease, and remembers when this process first saw its current state. */
export class LeaseHolder {
  readonly identity: LeaseIdentity
  readonly #client: KubeClient
  readonly #clock: Clock
  readonly #timeoutMs: number
  #observed: { readonly lease: Lease; readonly since: number } | undefined

  constructor(options: { client: KubeClient; identity: LeaseIdentity; clock: Clock; timeoutMs: number }) {
    this.identity = options.identity
    this.#client = options.client
    this.#clock = options.clock
    this.#timeoutMs = options.timeoutMs
  }

  /** The last known holder of the Lease. Undefined if none is known. */
  get holder(): string | undefined {
    return this.#observed && recordOf(this.#observed.lease).holder
  }

  /** The last known state of the Lease. */
  get lease(): Lease | undefined {
    return this.#observed?.lease
  }

  /** Remembers a new state of the Lease, from any source. */
  observe(lease: Lease | undefined): void {
    const before = this.#observed
    if (lease === undefined) this.#observed = undefined
    else if (before !== undefined && sameRecord(before.lease, lease)) this.#observed = { lease, since: before.since }
    else this.#observed = { lease, since: this.#clock.monotonic() }
  }

  decide(): LeaseDecision {
    return decideLease({
      me: this.identity.holder,
      now: this.#clock.monotonic(),
      observed: this.#observed && { record: recordOf(this.#observed.lease), since: this.#observed.since },
    })
  }

  /** Reads the Lease. `newConnection` helps if an existing connection is broken without an error. */
  async read(signal: AbortSignal, options: { newConnection?: boolean } = {}): Promise<void> {
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

  /** Makes this process the holder, if the Lease is unchanged. Returns the time at which the request was sent. */
  async write(signal: AbortSignal): Promise<number> {
    return this.storeWritten(await this.sendWrite(signal))
  }

  /** Sends the write. The caller passes the result that counts to `storeWritten`. */
  async sendWrite(signal: AbortSignal, timeoutMs = this.#timeoutMs): Promise<SentLease> {
    const sentAt = this.#clock.monotonic()
    const now = this.#clock.now()
    const seen = this.#observed?.lease
    const request = (inner: AbortSignal): Promise<Lease> => {
      const options = { signal: inner, lane: 'lease' as const }
      return seen === undefined
        ? this.#client.create(LEASES, newLease(this.identity, now), options)
        : this.#client.replace(LEASES, heldLease(seen, this.identity, now), options)
    }
    return { lease: await this.#withTimeLimit(signal, request, timeoutMs), sentAt }
  }

  /** Remembers the result of `sendWrite`. Returns the time at which its request was sent. */
  storeWritten({ lease, sentAt }: SentLease): number {
    this.observe(lease)
    return sentAt
  }

  /** Releases the Lease, if this process holds it. After a conflict or a 429 it reads the Lease and tries again. */
  async release(signal: AbortSignal): Promise<void> {
    for (;;) {
      try {
        await this.read(signal)
        if (this.#observed === undefined || this.holder !== this.identity.holder) return
        const lease = releasedLease(this.#observed.lease, this.identity, this.#clock.now())
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

  /** Runs one request with a time-out, which leaves time for other tries. */
  async #withTimeLimit<T>(
    signal: AbortSignal,
    request: (inner: AbortSignal) => Promise<T>,
    timeoutMs = this.#timeoutMs,
  ): Promise<T> {
    using limit = deadline(this.#clock, timeoutMs, { operation: 'lease request', signal })
    return await request(limit.signal)
  }
}

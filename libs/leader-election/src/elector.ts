import { abortable, type Clock, isAbort, messageOf, scope } from '@csi-sidecars/base'
import { isForbidden, type KubeClient } from '@csi-sidecars/kube-client'
import { LEASES, type Lease } from '@csi-sidecars/kube-types'
import {
  LEADER_ELECTION_MASTER_STATUS,
  LEADER_ELECTION_SLOWPATH_TOTAL,
  type Logger,
  type Metrics,
} from '@csi-sidecars/telemetry'
import type { LeaseIdentity } from './lease.ts'
import { LeaseHolder } from './lease-holder.ts'
import { renewWhileLeading } from './renewal.ts'
import { LeaderTerm } from './term.ts'

/** The times of a Lease, in milliseconds, as in client-go. */
export interface LeaseTimings {
  readonly leaseDurationMs: number
  readonly renewDeadlineMs: number
  readonly retryPeriodMs: number
}

/** The Lease, its times and the identity of a candidate. */
export interface ElectorOptions {
  /** A client for the Lease only, whose requests never wait for others. */
  readonly client: KubeClient
  readonly lease: {
    readonly namespace: string
    readonly name: string
    readonly labels: Readonly<Record<string, string>>
  }
  readonly identity: string
  readonly timings: LeaseTimings
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  /** The name of the lease in metrics, if a process has several. Default: empty, as in the Go sidecars. */
  readonly metricName?: string
  /** Records an event about the Lease, for example `<identity> became leader`. Must not throw. */
  readonly announce: (message: string, lease: Lease | undefined) => void
}

/** The work of a candidate: before, during and after its term. */
export interface Election {
  /** Does the leader's work. Must resolve soon after `term.signal` aborts. */
  readonly lead: (term: LeaderTerm) => Promise<void>
  /** Resolves once this process may take part in the election. */
  readonly whenEligible: (signal: AbortSignal) => Promise<void>
  /** Ends the election. A leader renews its Lease until `lead` has resolved. */
  readonly stop: AbortSignal
}

/** The time when the winning request was sent, and the earlier time when the Lease was found to be free. */
interface Win {
  readonly sentAt: number
  readonly soleSince: number
}

/** A standby waits 1 to 2.2 retry periods between its tries, so that standbys do not all try at once. */
const ACQUIRE_JITTER = 1.2
/** A leader is unhealthy if its Lease has been expired for more than this time. */
const UNHEALTHY_AFTER_EXPIRY_MS = 20_000

/**
 * Leads while this process holds the Lease, and is a standby otherwise. Compatible with client-go's leader election.
 *
 * Guarantees: two processes never lead at once. A leader stops at its renew deadline, and other processes take the
 * Lease only after the lease duration, which is longer.
 *
 * Caveats: the clocks of two machines may differ, but must run at about the same speed. A frozen process notices only
 * by `LeaderTerm.assertHeld` that it no longer leads.
 *
 * Errors: failed requests are logged and repeated. An error of `lead` rejects `run`, and the lease expires instead of
 * being released.
 */
export class Elector {
  readonly #options: ElectorOptions
  readonly #holder: LeaseHolder
  readonly #describe: { readonly lock: string }
  readonly #labels: { readonly name: string }
  readonly #status
  readonly #slowPath
  readonly #firstRead = Promise.withResolvers<void>()
  #term: LeaderTerm | undefined
  #knownHolder: string | undefined

  constructor(options: ElectorOptions) {
    this.#options = options
    const { lease, timings, metrics } = options
    const identity: LeaseIdentity = { ...lease, holder: options.identity, durationMs: timings.leaseDurationMs }
    const timeoutMs = Math.max(timings.renewDeadlineMs / 2, 1)
    this.#holder = new LeaseHolder({ client: options.client, identity, clock: options.clock, timeoutMs })
    this.#describe = { lock: `${lease.namespace}/${lease.name}` }
    this.#labels = { name: options.metricName ?? '' }
    this.#status = metrics.gauge(LEADER_ELECTION_MASTER_STATUS)
    this.#slowPath = metrics.counter(LEADER_ELECTION_SLOWPATH_TOTAL)
    this.#status.set(this.#labels, 0)
  }

  /** Resolves after the first try to read the Lease, even if it has failed. */
  get firstRead(): Promise<void> {
    return this.#firstRead.promise
  }

  /** The reason for the health check if a leader has not renewed its Lease for far too long. Otherwise undefined. */
  get unhealthyReason(): string | undefined {
    const { clock, timings } = this.#options
    if (this.#term === undefined) return undefined
    const late = clock.monotonic() - this.#term.renewedAt - timings.leaseDurationMs
    return late > UNHEALTHY_AFTER_EXPIRY_MS ? 'failed election to renew leadership on lease ' : undefined
  }

  /** Takes part in the election. Returns `lost` after losing the Lease, else `stopped`. */
  async run(election: Election): Promise<'stopped' | 'lost'> {
    const { log } = this.#options
    for (;;) {
      const won = await this.#acquire(election)
      if (won === undefined) return 'stopped'
      const term = this.#begin(won)
      const leading = scope()
      const lead = election.lead(term).finally(() => leading.abort(new Error('done leading')))
      await this.#renew(term, leading.signal)
      const lost = term.signal.aborted
      if (lost) log.error(undefined, 'Stopped leading', this.#describe)
      await lead
      await this.#end(term)
      if (lost) return 'lost'
      if (election.stop.aborted) return 'stopped'
    }
  }

  #begin(won: Win): LeaderTerm {
    const { clock, timings, log, announce, identity } = this.#options
    const term = new LeaderTerm({ clock, renewDeadlineMs: timings.renewDeadlineMs, ...won })
    this.#term = term
    this.#status.set(this.#labels, 1)
    log.info('Successfully acquired lease', this.#describe)
    log.v(2)?.info('became leader, starting')
    announce(`${identity} became leader`, this.#holder.lease)
    return term
  }

  async #end(term: LeaderTerm): Promise<void> {
    const { clock, timings, announce, identity, log } = this.#options
    const stillOurs = term.isHeld()
    term.end('no longer leading')
    this.#term = undefined
    this.#status.set(this.#labels, 0)
    announce(`${identity} stopped leading`, this.#holder.lease)
    if (!stillOurs) return
    const limit = scope()
    const cancel = clock.schedule(timings.renewDeadlineMs, () => limit.abort(new Error('timed out')))
    try {
      await this.#holder.release(limit.signal)
    } catch (error) {
      log.error(error, 'Failed to release lease', this.#describe)
    } finally {
      cancel()
    }
  }

  /** Waits until this process has the Lease. Returns undefined if `stop` is aborted before. */
  async #acquire({ whenEligible, stop }: Election): Promise<Win | undefined> {
    const { log } = this.#options
    try {
      await whenEligible(stop)
      stop.throwIfAborted()
      log.info('Attempting to acquire leader lease...', this.#describe)
      return await this.#waitForLease(stop)
    } catch (error) {
      if (stop.aborted) return undefined
      throw error
    }
  }

  async #waitForLease(stop: AbortSignal): Promise<Win> {
    using waiting = scope(stop)
    let wake = Promise.withResolvers<void>()
    const watching = this.#watch(waiting.signal, () => wake.resolve())
    try {
      for (;;) {
        wake = Promise.withResolvers<void>()
        const won = await this.#tryToAcquire(stop)
        if (won !== undefined) return won
        await this.#pause(wake.promise, stop)
      }
    } finally {
      waiting.abort(new Error('done waiting for the lease'))
      await watching
    }
  }

  /** Reads the Lease once. If it is free, tries once to write it. */
  async #tryToAcquire(stop: AbortSignal): Promise<Win | undefined> {
    const { log, clock } = this.#options
    try {
      await this.#holder.read(stop)
      const soleSince = clock.monotonic()
      this.#firstRead.resolve()
      this.#noteHolder()
      const decision = this.#holder.decide()
      if (decision.kind === 'wait') return undefined
      const sentAt = await this.#holder.write(stop)
      this.#noteHolder()
      return { sentAt, soleSince }
    } catch (error) {
      stop.throwIfAborted()
      // If the process may not access the Lease, the client has already logged the error.
      if (!isForbidden(error)) log.error(error, 'Error retrieving or updating lease lock', this.#describe)
      this.#firstRead.resolve()
      return undefined
    }
  }

  /** Waits for the next poll, for the expiry of the Lease or for a change of it, whichever comes first. */
  async #pause(change: Promise<void>, stop: AbortSignal): Promise<void> {
    const { clock, timings } = this.#options
    const poll = timings.retryPeriodMs * (1 + ACQUIRE_JITTER * clock.random())
    const decision = this.#holder.decide()
    const wait = decision.kind === 'wait' ? Math.min(poll, decision.expiresInMs) : poll
    using pause = scope(stop)
    const slept = clock.sleep(wait, pause.signal).catch((error: unknown) => {
      stop.throwIfAborted()
      if (!isAbort(error) && !pause.signal.aborted) throw error
    })
    // `pause` has its own signal, because a race on `stop` would leave a listener for each pause.
    await Promise.race([slept, abortable(change, pause.signal)])
    pause.abort(new Error('the lease changed'))
    await slept
  }

  /** Calls `changed` at every change of the Lease, if this process may watch it. Polling continues in any case. */
  async #watch(signal: AbortSignal, changed: () => void): Promise<void> {
    const { client, lease, clock, log, timings } = this.#options
    while (!signal.aborted) {
      try {
        const frames = client.watch(LEASES, {
          namespace: lease.namespace,
          fieldSelector: `metadata.name=${lease.name}`,
          optional: true,
          signal,
        })
        for await (const frame of frames) {
          if (frame.type !== 'BOOKMARK' && frame.type !== 'END') changed()
        }
        await clock.sleep(timings.retryPeriodMs, signal)
      } catch (error) {
        if (signal.aborted) return
        if (isForbidden(error)) return log.v(4)?.info('Not allowed to watch leases, polling', { err: messageOf(error) })
        await clock.sleep(timings.retryPeriodMs, signal).catch(() => {})
      }
    }
  }

  /** Renews the Lease until `leading` is aborted or the term is over. */
  async #renew(term: LeaderTerm, leading: AbortSignal): Promise<void> {
    const { clock, timings, log } = this.#options
    const why = await renewWhileLeading(term, leading, {
      holder: this.#holder,
      clock,
      retryPeriodMs: timings.retryPeriodMs,
      onRead: () => this.#noteHolder(),
      onSlowPath: (err) => {
        this.#slowPath.inc(this.#labels)
        const pairs = { ...this.#describe, err }
        log.v(2)?.info('Failed to update lease optimistically, falling back to slow path', pairs)
      },
    })
    if (why !== undefined) log.info('Failed to renew lease', { ...this.#describe, err: messageOf(why) })
  }

  #noteHolder(): void {
    const { holder } = this.#holder
    if (holder === this.#knownHolder || holder === undefined || holder === '') return
    this.#knownHolder = holder
    this.#options.log.v(3)?.info('New leader detected', { leader: holder })
  }
}

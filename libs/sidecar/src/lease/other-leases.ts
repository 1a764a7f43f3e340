import { type Clock, messageOf } from '@csi-sidecars/base'
import type { KubeClient } from '@csi-sidecars/kube-client'
import { LeaseHolder } from '@csi-sidecars/leader-election'
import type { Logger } from '@csi-sidecars/telemetry'

/** The Leases that must be free before this process works, and how often they are read. */
export interface OtherLeasesOptions {
  readonly client: KubeClient
  readonly namespace: string
  readonly names: readonly string[]
  /** The identity of this process. A Lease with this holder blocks nothing. */
  readonly identity: string
  /** The pause between two checks, in milliseconds. */
  readonly periodMs: number
  readonly leaseDurationMs: number
  readonly clock: Clock
  readonly log: Logger
}

interface Found {
  /** The Lease in log lines: `name (holder)`, or `name (reason)` if it is unreadable. */
  readonly lease: string
  readonly isHeld: boolean
}

/** The interval of checks while this process leads. Each check logs an unexpected holder. */
const CHECK_INTERVAL_MS = 60_000

/**
 * Checks the Leases of the Go sidecars, for a process whose apps share one Lease. While another process holds one of
 * the checked Leases, this process must not act.
 */
export class OtherLeases {
  readonly #options: OtherLeasesOptions
  readonly #holders: readonly LeaseHolder[]
  readonly #heldAtFirst = Promise.withResolvers<void>()
  #wereFree = false

  constructor(options: OtherLeasesOptions) {
    this.#options = options
    const { client, clock, namespace, identity, leaseDurationMs, periodMs } = options
    this.#holders = options.names.map(
      (name) =>
        new LeaseHolder({
          client,
          clock,
          timeoutMs: periodMs,
          identity: { namespace, name, labels: {}, holder: identity, durationMs: leaseDurationMs },
        }),
    )
  }

  /** Resolves once `whenFree` waits for a Lease that is held elsewhere or unreadable. */
  get whenWaiting(): Promise<void> {
    return this.#heldAtFirst.promise
  }

  /** Waits until no other process holds one of the Leases. Later calls do not wait. Rejects if `signal` is aborted. */
  async whenFree(signal: AbortSignal): Promise<void> {
    const { clock, periodMs, log } = this.#options
    let logged = ''
    while (!this.#wereFree) {
      const found = await this.#found(signal)
      if (found === undefined) {
        this.#wereFree = true
        return
      }
      this.#heldAtFirst.resolve()
      // A Lease that cannot be read may be held, so the process waits for it too.
      if (found.lease !== logged) log.info('Waiting for a lease of another sidecar', { lease: found.lease })
      logged = found.lease
      await clock.sleep(periodMs, signal)
    }
  }

  /** Logs an error if another process takes a Lease while this process leads. Ends when the signal is aborted. */
  async watch(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options
    while (!signal.aborted) {
      const found = await this.#found(signal).catch(() => undefined)
      if (found?.isHeld === true) {
        const { lease } = found
        log.error(undefined, 'A lease of another sidecar is held: two may act for the same volumes', { lease })
      }
      await clock.sleep(CHECK_INTERVAL_MS, signal).catch(() => {})
    }
  }

  /** Returns the first Lease that is held or cannot be read. */
  async #found(signal: AbortSignal): Promise<Found | undefined> {
    for (const holder of this.#holders) {
      const { name } = holder.identity
      try {
        await holder.read(signal)
      } catch (error) {
        signal.throwIfAborted()
        return { lease: `${name} (${messageOf(error)})`, isHeld: false }
      }
      const decision = holder.decide()
      if (decision.kind === 'wait') return { lease: `${name} (${decision.holder})`, isHeld: true }
    }
    return undefined
  }
}

import { type Clock, messageOf } from '@csi-sidecars/base'
import type { KubeClient } from '@csi-sidecars/kube-client'
import { LeaseHolder } from '@csi-sidecars/leader-election'
import type { Logger } from '@csi-sidecars/telemetry'

export interface OtherLeasesOptions {
  readonly client: KubeClient
  readonly namespace: string
  readonly names: readonly string[]
  /** This process, as it would stand in them. */
  readonly identity: string
  /** Pause between two looks. */
  readonly periodMs: number
  readonly leaseDurationMs: number
  readonly clock: Clock
  readonly log: Logger
}

/** A look at held leases while this process leads: somebody who should not be there is said once in so long. */
const REMINDER_MS = 60_000

/**
 * The Leases of the Go originals and of the single sidecars, for a process that holds another one in their place: while
 * somebody holds one of them it must not act.
 */
export class OtherLeases {
  readonly #options: OtherLeasesOptions
  readonly #holders: readonly LeaseHolder[]
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

  /** Resolves when nobody holds any of them; after the first time at once. Rejects when aborted. */
  async whenFree(signal: AbortSignal): Promise<void> {
    const { clock, periodMs, log } = this.#options
    let said = ''
    while (!this.#wereFree) {
      const held = await this.#held(signal)
      if (held === undefined) {
        this.#wereFree = true
        return
      }
      if (held !== said) log.info('Waiting for a lease of another sidecar', { lease: held })
      said = held
      await clock.sleep(periodMs, signal)
    }
  }

  /** Says so when somebody takes one of them while this process leads. Ends when aborted. */
  async watch(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options
    while (!signal.aborted) {
      const held = await this.#held(signal).catch(() => undefined)
      if (held !== undefined) {
        log.error(undefined, 'A lease of another sidecar is held: two may act for the same volumes', { lease: held })
      }
      await clock.sleep(REMINDER_MS, signal).catch(() => {})
    }
  }

  /** `name (holder)` of one that is held. One that cannot be read counts as held. */
  async #held(signal: AbortSignal): Promise<string | undefined> {
    for (const holder of this.#holders) {
      const { name } = holder.identity
      try {
        await holder.look(signal)
      } catch (error) {
        signal.throwIfAborted()
        return `${name} (${messageOf(error)})`
      }
      const decision = holder.decide()
      if (decision.do === 'wait') return `${name} (${decision.holder})`
    }
    return undefined
  }
}

import { getEventListeners } from 'node:events'
import type { FakeClock } from '@csi-sidecars/base/testing'
import type { Lease } from '@csi-sidecars/kube-types'
import { Metrics } from '@csi-sidecars/telemetry'
import { recordingLogger } from '@csi-sidecars/telemetry/testing'
import { Elector } from '../elector.ts'
import type { LeaderTerm } from '../term.ts'
import type { LeaseServer } from './lease-server.ts'

export const TIMINGS = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 5_000 }

/** One process in an election, with a record of its terms and its announcements. */
export class Candidate {
  readonly log = recordingLogger()
  readonly metrics = new Metrics()
  readonly announced: string[] = []
  readonly announcedOn: (Lease | undefined)[] = []
  readonly terms: LeaderTerm[] = []
  readonly elector: Elector
  readonly #stop = new AbortController()
  #endLead = Promise.withResolvers<void>()
  outcome: 'stopped' | 'lost' | undefined

  constructor(server: LeaseServer, clock: FakeClock, identity: string) {
    this.elector = new Elector({
      client: server.client,
      lease: { namespace: 'ns', name: 'lease', labels: {} },
      identity,
      timings: TIMINGS,
      clock,
      log: this.log,
      metrics: this.metrics,
      announce: (message, lease) => {
        this.announced.push(message)
        this.announcedOn.push(lease)
      },
    })
  }

  /** The number of listeners that wait for `stop`. */
  get waiting(): number {
    return getEventListeners(this.#stop.signal, 'abort').length
  }

  get leads(): boolean {
    return this.terms.at(-1)?.isHeld() === true
  }

  run(whenEligible: (signal: AbortSignal) => Promise<void> = async () => {}): Promise<void> {
    const lead = async (term: LeaderTerm): Promise<void> => {
      this.terms.push(term)
      this.#endLead = Promise.withResolvers()
      term.signal.addEventListener('abort', () => this.#endLead.resolve())
      await this.#endLead.promise
    }
    return this.elector.run({ lead, whenEligible, stop: this.#stop.signal }).then((outcome) => {
      this.outcome = outcome
    })
  }

  /** Ends the running work of the leader. */
  drained(): void {
    this.#endLead.resolve()
  }

  stop(): void {
    this.#stop.abort(new Error('stop'))
  }
}

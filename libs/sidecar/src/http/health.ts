import type { Clock } from '@csi-sidecars/base'
import { type EventLoopWatch, type Metrics, watchEventLoop } from '@csi-sidecars/telemetry'
import type { DriverAnswers } from '../driver/answers.ts'
import type { StartedService } from '../serve/serve.ts'
import type { HealthChecks } from './server.ts'

/**
 * The time after which a stalled event loop fails /livez. A process that stalls for ten seconds cannot renew its lease.
 */
const MAX_STALL_MS = 10_000
/** The time after which a silent watch fails /livez. Bookmarks arrive about once a minute. */
const MAX_SILENCE_MS = 15 * 60_000

/** Computes the answers of the health paths. `setService` sets the service after the HTTP server has opened. */
export class Health {
  readonly #loop: EventLoopWatch
  #service: StartedService | undefined
  #answers: Pick<DriverAnswers, 'whyNotReady'> | undefined

  constructor(clock: Clock, metrics: Metrics) {
    this.#loop = watchEventLoop(clock, metrics)
  }

  setService({ service, answers }: { service: StartedService; answers: Pick<DriverAnswers, 'whyNotReady'> }): void {
    this.#service = service
    this.#answers = answers
  }

  stop(): void {
    this.#loop.stop()
  }

  checks(leaderElection: boolean): HealthChecks {
    return {
      live: () => this.#liveFailures(),
      ready: () => this.#readyFailures(),
      ...(leaderElection && { leaderElection: () => this.#electionFailures() }),
    }
  }

  #liveFailures(): string[] {
    const reasons = (this.#service?.caches ?? [])
      .filter((cache) => cache.silentForMs > MAX_SILENCE_MS)
      .map((cache) => `nothing heard from the API server for ${cache.name} in ${seconds(cache.silentForMs)}`)
    const overdue = this.#loop.overdueMs()
    if (overdue > MAX_STALL_MS) reasons.push(`the event loop stands still for ${seconds(overdue)}`)
    return reasons
  }

  /** Returns the reasons why the process is not ready to work. A standby with filled caches is ready. */
  async #readyFailures(): Promise<readonly string[]> {
    if (this.#service === undefined) return ['starting']
    const { driver, caches } = this.#service
    const reasons = caches.filter((cache) => !cache.synced).map((cache) => `cache of ${cache.name} is not filled yet`)
    const reason =
      driver.state === 'ready'
        ? await this.#answers?.whyNotReady()
        : `CSI driver ${driver.name} is gone for ${seconds(driver.lostForMs)}`
    return reason === undefined ? reasons : [...reasons, reason]
  }

  #electionFailures(): string[] {
    const roles = this.#service?.roles ?? []
    // If several apps run, each reason begins with the name of the app. The Go sidecars print no name.
    return roles.flatMap(({ name, elector }) => {
      const unhealthyReason = elector?.unhealthyReason
      return unhealthyReason === undefined ? [] : [roles.length > 1 ? `${name}: ${unhealthyReason}` : unhealthyReason]
    })
  }
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`
}

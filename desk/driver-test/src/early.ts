import type { Clock } from '@csi-sidecars/base'
import { Checker } from './checks/checker.ts'
import type { SeedResult } from './seed.ts'

/** Collects findings before the run of the first seed, while the abilities of the driver are tried. */
export class EarlyFindings {
  readonly #clock: Clock
  readonly #checker: Checker
  readonly #startedAt: number
  #trying = 'the driver was asked what it can do'
  #over = false

  constructor(clock: Clock) {
    this.#clock = clock
    this.#startedAt = clock.monotonic()
    this.#checker = new Checker({ startedAt: this.#startedAt, shortened: (path) => path })
  }

  get any(): boolean {
    return this.#checker.findings.length > 0
  }

  /** The callbacks that are called while the abilities of the driver are tried. */
  readonly probeCallbacks = {
    onTrial: (action: string): void => {
      this.#trying = `${action} were tried`
    },
    onLost: (action: string): void => this.#find(`the driver was lost again and again when ${action} was tried`),
  }

  /** The listener for ends of a driver that the test has started. */
  readonly onDeath = (how: string): void => this.#find(`the driver ended ${how} while ${this.#trying}`)

  /** Returns all findings until now as one result, or an empty list if there are none. Ignores all later findings. */
  results(): SeedResult[] {
    this.#over = true
    if (!this.any) return []
    const { findings } = this.#checker
    const seconds = (this.#clock.monotonic() - this.#startedAt) / 1000
    const none = { actions: 0, calls: 0, callsOf: new Map(), clusterFaults: [], undeleted: [], interrupted: false }
    return [{ title: 'before the first seed', seed: undefined, seconds, findings, ...none }]
  }

  #find(text: string): void {
    if (this.#over) return
    this.#checker.report({ check: 'alive', subjectId: undefined, text, causeKey: 'early' })
  }
}

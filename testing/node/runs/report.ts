import { systemClock } from '@csi-sidecars/base'
import type { Print } from '../cluster/up.ts'

/** The named steps of a run, each with the time at which it ended. */
export class RunSteps {
  readonly #start = systemClock.monotonic()
  readonly #print: Print

  constructor(print: Print) {
    this.#print = print
  }

  get seconds(): number {
    return Math.round((systemClock.monotonic() - this.#start) / 1000)
  }

  done(step: string): void {
    this.#print(`${this.seconds.toString().padStart(5)} s  ${step}`)
  }
}

/** Throws with the message unless the condition holds. */
export function expectThat(holds: boolean, message: string): void {
  if (!holds) throw new Error(message)
}

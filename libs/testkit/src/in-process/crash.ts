import { invariant } from '@csi-sidecars/base'
import type { Gate, Outgoing } from './gate.ts'

/** Where a process dies: at one of its writes, before or after that took effect. */
export interface CrashPoint {
  /** Counted from 0. */
  readonly write: number
  readonly applied: boolean
}

/** Counts the writes of a process and lets it die at one of them: nothing more leaves it, and no answer reaches it. */
export class CrashGate implements Gate {
  /** The labels of the writes so far, the deadly one included. */
  readonly writes: string[] = []
  readonly #point: CrashPoint | undefined
  readonly #crashed = Promise.withResolvers<void>()
  #dead = false

  constructor(point?: CrashPoint) {
    this.#point = point
  }

  get dead(): boolean {
    return this.#dead
  }

  /** Resolves when the process has died, and its last write has taken effect or never will. */
  get crashed(): Promise<void> {
    return this.#crashed.promise
  }

  async pass<T>({ label, write }: Outgoing, effect: () => Promise<T>): Promise<T> {
    if (this.#dead) return NEVER
    if (write) this.writes.push(label)
    if (!write || this.#point?.write !== this.writes.length - 1) {
      const answer = await effect()
      return this.dead ? NEVER : answer
    }
    this.#dead = true
    // The answer for a dead process is dropped.
    if (this.#point.applied) await effect().catch(() => undefined)
    this.#crashed.resolve()
    return NEVER
  }
}

const NEVER = new Promise<never>(() => undefined)

/**
 * Runs a scenario to its end, and then once for each of the writes before which and once for each after which its
 * process dies. The scenario starts another process when `gate.crashed` resolves, and checks how it all ended.
 * Returns the labels of the writes.
 */
export async function crashAtEveryWrite(scenario: (gate: CrashGate) => Promise<void>): Promise<readonly string[]> {
  const whole = new CrashGate()
  await scenario(whole)
  for (const [write, label] of whole.writes.entries()) {
    for (const applied of [false, true]) {
      const where = `a crash ${applied ? 'after' : 'before'} write ${write + 1}, ${label}`
      const gate = new CrashGate({ write, applied })
      try {
        await scenario(gate)
      } catch (cause) {
        throw new Error(where, { cause })
      }
      invariant(gate.dead, `${where}, never came`)
    }
  }
  return whole.writes
}

import { FakeClock } from '@csi-sidecars/base/testing'

const TURNS = new FakeClock()
const STEP_MS = 100

/** Waits until real sockets make the condition true. Throws if the condition stays false. */
export async function until(condition: () => boolean, awaited: string): Promise<void> {
  for (let turns = 0; turns < 10_000; turns += 1) {
    if (condition()) return
    await TURNS.settle()
  }
  throw new Error(`waited in vain until ${awaited}`)
}

/** Advances the clock in small steps, and gives real sockets time after each step. */
export async function pass(clock: FakeClock, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= STEP_MS) {
    await clock.advance(Math.min(left, STEP_MS))
    await clock.settle()
  }
}

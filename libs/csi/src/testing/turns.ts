import { FakeClock } from '@csi-sidecars/base/testing'

const TURNS = new FakeClock()
const STEP_MS = 100

/** Lets real sockets get on until the condition holds; fails loudly when it does not come true. */
export async function until(condition: () => boolean, what: string): Promise<void> {
  for (let turns = 0; turns < 10_000; turns += 1) {
    if (condition()) return
    await TURNS.settle()
  }
  throw new Error(`waited in vain until ${what}`)
}

/** Lets time pass in small steps, with turns for real sockets between them. */
export async function pass(clock: FakeClock, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= STEP_MS) {
    await clock.advance(Math.min(left, STEP_MS))
    await clock.settle()
  }
}

import type { Call } from '../../../e2e/harness/driver/driver.ts'
import { pause } from '../../../e2e/harness/waiting.ts'
import type { Ground } from '../ground.ts'
import { attach, nodeOf } from '../objects.ts'
import type { Subject } from '../subject.ts'

export const ATTACHES = 300
export const BETWEEN_ATTACHES_MS = 200
/** The volumes `attached-<number>` must be there. */
export const ATTACHED = 'attached'

const ANSWERED_MS = 60_000

/** Asks for one attachment after another, and says how long each took until the driver was called (ms), shortest first. */
export async function attachTimes(ground: Ground, subject: Subject, count: number): Promise<readonly number[]> {
  const { driver } = subject
  const asked: number[] = []
  for (let index = 0; index < count; index += 1) {
    asked.push(Date.now())
    await attach(ground, driver.name, { name: `${ATTACHED}-${index}`, node: nodeOf(driver.name) })
    await pause(BETWEEN_ATTACHES_MS)
  }
  const calls = (): readonly Call[] =>
    driver.callsOf('ControllerPublishVolume').filter((call) => volumeOf(call).startsWith(`${ATTACHED}-`))
  await subject.until('all attaches', async () => calls().length >= count, ANSWERED_MS)
  const starts = new Map(calls().map((call) => [volumeOf(call), call.start]))
  return asked
    .map((from, index) => (starts.get(`${ATTACHED}-${index}-handle`) ?? Number.NaN) - from)
    .toSorted((a, b) => a - b)
}

export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN
}

export function volumeOf({ request }: Call): string {
  return String(request['volume_id'])
}

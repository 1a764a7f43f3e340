import type { Call } from '../../../e2e/harness/driver/driver.ts'
import { pause } from '../../../e2e/harness/waiting.ts'
import type { Ground } from '../ground.ts'
import { attach, nodeOf } from '../objects.ts'
import type { Subject } from '../subject.ts'

export const ATTACHES = 200
export const BETWEEN_ATTACHES_MS = 200
/** The name prefix of the PersistentVolumes to attach. They must exist. */
export const ATTACHED = 'attached'

const ANSWERED_MS = 60_000

/** Attaches volumes one by one. Returns the time from each request to the call to the driver (ms), shortest first. */
export async function attachTimes(
  ground: Ground,
  subject: Subject,
  { count, prefix = ATTACHED }: { readonly count: number; readonly prefix?: string },
): Promise<readonly number[]> {
  const { driver } = subject
  const asked: number[] = []
  for (let index = 0; index < count; index += 1) {
    asked.push(Date.now())
    await attach(ground, driver.name, { name: `${prefix}-${index}`, node: nodeOf(driver.name) })
    await pause(BETWEEN_ATTACHES_MS)
  }
  const calls = (): readonly Call[] =>
    driver.callsOf('ControllerPublishVolume').filter((call) => volumeOf(call).startsWith(`${prefix}-`))
  await subject.until('all attaches', async () => calls().length >= count, ANSWERED_MS)
  const requested = asked.map((from, index) => [`${prefix}-${index}`, from] as const)
  return timesToCall(calls(), new Map(requested))
}

/** Returns the time from the request for each volume (by name) to its first call (ms), shortest first. */
export function timesToCall(calls: readonly Call[], requested: ReadonlyMap<string, number>): readonly number[] {
  // The calls are reversed, so that the first call of a volume overwrites its later calls.
  const starts = new Map(calls.toReversed().map((call) => [volumeOf(call), call.start]))
  return [...requested]
    .map(([name, from]) => (starts.get(`${name}-handle`) ?? Number.NaN) - from)
    .toSorted((a, b) => a - b)
}

export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN
}

export function volumeOf({ request }: Call): string {
  return String(request['volume_id'])
}

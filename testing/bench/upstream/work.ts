import { PERSISTENT_VOLUME_CLAIMS, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { FACTS } from '@csi-sidecars/sidecars/facts'
import type { Call, FakeDriver } from '../../e2e/harness/driver/driver.ts'
import type { TestedApp } from '../../e2e/harness/subject.ts'
import { pause } from '../../e2e/harness/waiting.ts'
import type { Figures } from './figures.ts'
import type { BenchServer } from './ground.ts'
import { attach, createBoundClaim, growing, nodeOf, nodes, raise, volumes } from './objects.ts'
import type { Measured } from './subject.ts'

/** The pause after the warm-up in which the Go sidecar's rate limiter (burst 10, 5 per second) refills. */
const BUCKET_FULL_MS = 2500

export function workCalls(app: TestedApp, { calls }: FakeDriver): readonly Call[] {
  return calls.filter(({ method }) => method === FACTS[app].mainMethod)
}

/** Creates the CSINode or the StorageClass that all work for a driver shares. */
export async function prepareWork(ground: BenchServer, app: TestedApp, driver: string): Promise<void> {
  if (app === 'attacher') await nodes(ground, driver)
  else await growing(ground, driver)
}

export async function giveWork(ground: BenchServer, { app, driver }: Pick<Measured, 'app' | 'driver'>, name: string) {
  if (app === 'attacher') {
    await volumes(ground, driver.name, { count: 1, prefix: name })
    await attach(ground, driver.name, { name: `${name}-0`, node: nodeOf(driver.name) })
  } else {
    await createBoundClaim(ground, driver.name, { name })
    await raise(ground, name)
  }
}

/** Creates a first object and waits until the sidecar has handled it. The sidecar then leads with full caches. */
export async function warmUp(ground: BenchServer, subject: Measured): Promise<void> {
  const { app } = subject
  const name = `${subject.driver.name}-warm-up`
  await giveWork(ground, subject, name)
  const isDone = async (): Promise<boolean> => {
    if (app === 'attacher') {
      return (await ground.api.get(VOLUME_ATTACHMENTS, { name: `${name}-0` })).status?.attached === true
    }
    const { status } = await ground.api.get(PERSISTENT_VOLUME_CLAIMS, { namespace: 'default', name })
    return status?.capacity?.['storage'] === '2Gi'
  }
  await subject.until('the first piece of work', isDone, 60_000)
  if (app === 'attacher') {
    await ground.api.delete(VOLUME_ATTACHMENTS, { name: `${name}-0` })
    const isGone = async (): Promise<boolean> =>
      (await ground.api.find(VOLUME_ATTACHMENTS, { name: `${name}-0` })) === undefined
    await subject.until('the end of the first piece of work', isGone)
  }
  await pause(BUCKET_FULL_MS)
}

/** Waits for the sidecar's first call to the driver, and notes the time and the CPU time until then. */
export async function noteFirstCall(figures: Figures, subject: Measured, within = 120_000): Promise<void> {
  const { app, side, driver, sidecar } = subject
  const call = await subject.until('its first call', async () => workCalls(app, driver)[0], within)
  figures.note(app, side, {
    'exec to first call (s)': (call.start - sidecar.started) / 1000,
    'CPU until then (s)': subject.cost().cpuSeconds,
  })
}

/** The time until memory is measured. V8 collects the garbage of the start once a process allocates little. */
export const SETTLED_MS = 60_000

export function noteMemory(figures: Figures, subject: Measured): void {
  const { rss, anonymous, peak } = subject.cost()
  const memory = { 'RSS settled (MiB)': rss, 'of it anonymous (MiB)': anonymous, 'RSS at its peak (MiB)': peak }
  figures.note(subject.app, subject.side, memory)
}

export const ATTACHES = 200
export const BETWEEN_ATTACHES_MS = 200
/** The name prefix of the PersistentVolumes to attach. They must exist. */
export const ATTACHED = 'attached'

const ANSWERED_MS = 60_000

/** Attaches volumes one by one. Returns the sorted times from each attachment's creation to its driver call, in ms. */
export async function attachTimes(
  ground: BenchServer,
  subject: Measured,
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

/** Returns the sorted times from the request for each volume to the volume's first driver call, in ms. */
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

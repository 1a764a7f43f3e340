import { deepStrictEqual as equal, ok } from 'node:assert'
import { VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import type { RunningSidecar, TestContext } from '../../harness/context.ts'
import type { Call, Driver } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, pause } from '../../harness/waiting.ts'
import { attach, attached } from '../attacher/scene.ts'
import { raised, resized } from '../resizer/scene.ts'
import { surroundings } from '../work.ts'
import { ELECTION } from './one-process-scene.ts'

const test = testsOf('both', 'rolling updates')

/** The duration of a call: long enough to overlap with a call of another leader. */
const CALL_MS = 400
const PAUSE_MS = 700
const CALLS = ['ControllerPublishVolume', 'ControllerUnpublishVolume', 'ControllerExpandVolume']

type Kind = 'original' | 'ours' | 'one'

interface Pod {
  readonly driver: Driver
  readonly sidecars: readonly RunningSidecar[]
}

/** A driver and its sidecars: two of the originals, two of ours, or the one process. */
async function pod(t: TestContext, kind: Kind, hostname: string): Promise<Pod> {
  const driver = await t.fullDriver()
  for (const method of CALLS) driver.on(method, { reply: {}, after: CALL_MS })
  const common = { driver, hostname, args: ELECTION }
  if (kind === 'one') return { driver, sidecars: [await t.sidecar({ ...common, app: 'both' })] }
  const sidecars: RunningSidecar[] = []
  for (const app of ['attacher', 'resizer'] as const) {
    const binary = kind === 'original' ? { binary: t.original(app) } : {}
    sidecars.push(await t.sidecar({ ...common, ...binary, app }))
  }
  return { driver, sidecars }
}

/** Waits until the pod campaigns for both leases: two log lines in all. */
function campaigns({ sidecars }: Pod): Promise<unknown> {
  const waiting = (): boolean =>
    sidecars.reduce((sum, each) => sum + each.linesWith('ttempting to acquire leader lease').length, 0) >= 2
  return eventually('a pod that campaigns for both leases', waiting, { within: 20_000 })
}

/** Starts one pod, then ends an old one, as a Deployment does. */
async function roll(
  t: TestContext,
  old: readonly Pod[],
  { kind, generation }: { readonly kind: Kind; readonly generation: number },
): Promise<readonly Pod[]> {
  const fresh: Pod[] = []
  for (const [index, leaving] of old.entries()) {
    const next = await pod(t, kind, `${kind}-${generation}-${index}`)
    fresh.push(next)
    await campaigns(next)
    for (const sidecar of leaving.sidecars) sidecar.signal('SIGTERM')
    for (const sidecar of leaving.sidecars) await sidecar.end(30_000)
  }
  return fresh
}

interface Load {
  /** The number of started operations of each kind. */
  begun: number
  readonly end: () => Promise<void>
}

/** Attaches, raises and detaches without a pause longer than `PAUSE_MS`. */
function load(t: TestContext, node: string): Load {
  let over = false
  const current: Load = {
    begun: 0,
    end: async () => {
      over = true
      await running
    },
  }
  const work = async (): Promise<void> => {
    while (!over) {
      const suffix = `-${current.begun}`
      current.begun += 1
      await attach(t, { node }, { suffix: `${suffix}-a` })
      await raised(t, { suffix: `${suffix}-r` })
      const [leaving] = await leavingOf(t, current.begun)
      if (leaving !== undefined) await t.api.delete(VOLUME_ATTACHMENTS, { name: leaving })
      await pause(PAUSE_MS)
    }
  }
  const running = work()
  return current
}

/** Every second attachment is detached once it has been attached for a few rounds. */
async function leavingOf(t: TestContext, begun: number): Promise<readonly string[]> {
  if (begun < 6 || begun % 2 === 1) return []
  const name = t.name(`va-${begun - 6}-a`)
  const va = await t.api.find(VOLUME_ATTACHMENTS, { name })
  return va?.status?.attached === true ? [name] : []
}

function works(pods: readonly Pod[]): boolean {
  const called = (method: string): boolean => pods.some(({ driver }) => driver.callsOf(method).length > 0)
  return called('ControllerPublishVolume') && called('ControllerExpandVolume')
}

/** Returns the calls that begin before the last call for the same volume, from any process, has ended. */
function overlaps(drivers: readonly Driver[]): readonly string[] {
  const byVolume = new Map<unknown, Call[]>()
  for (const call of drivers.flatMap((driver) => driver.callsOf(...CALLS))) {
    const volume = call.request['volume_id']
    byVolume.set(volume, [...(byVolume.get(volume) ?? []), call])
  }
  return [...byVolume].flatMap(([volume, calls]) => {
    const sorted = calls.toSorted((a, b) => a.start - b.start)
    return sorted
      .slice(1)
      .filter(({ start }, index) => start < (sorted[index]?.end ?? Infinity))
      .map(({ method, start }) => `${volume}: ${method} at ${start}`)
  })
}

test('a rollout from the originals to ours, to the one process and back, under load: no overlap, nothing lost', {
  only: 'ours',
  alone: true,
  within: 400_000,
}, async (t) => {
  const node = await surroundings(t)
  let pods: readonly Pod[] = [await pod(t, 'original', 'original-0-0'), await pod(t, 'original', 'original-0-1')]
  for (const each of pods) await campaigns(each)
  const working = load(t, node)
  await attached(t, t.name('va-0-a'))
  for (const [generation, kind] of (['ours', 'one', 'original'] as const).entries()) {
    pods = await roll(t, pods, { kind, generation: generation + 1 })
    await eventually(`attaches and expansions by ${kind}`, () => works(pods), { within: 30_000 })
  }
  await working.end()
  for (let index = 0; index < working.begun; index += 1) {
    await resized(t, '2Gi', t.name(`pvc-${index}-r`))
    const name = t.name(`va-${index}-a`)
    const left = await t.api.find(VOLUME_ATTACHMENTS, { name })
    if (left === undefined) continue
    if (left.metadata?.deletionTimestamp === undefined) await attached(t, name, { within: 30_000 })
    else await t.api.untilGone(VOLUME_ATTACHMENTS, { name })
  }
  equal(overlaps(t.drivers), [])
  ok(t.drivers.flatMap((driver) => driver.callsOf('ControllerUnpublishVolume')).length > 0, 'nothing was detached')
})

import { deepStrictEqual as equal, match, ok } from 'node:assert'
import { CLUSTER_ROLES, LEASES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { FACTS } from '@csi-sidecars/sidecars/facts'
import { userWith } from '../../harness/api/user.ts'
import type { RunningSidecar, TestContext } from '../../harness/context.ts'
import type { FakeDriver } from '../../harness/driver/driver.ts'
import { leaseName } from '../../harness/subject.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, repeat } from '../../harness/waiting.ts'
import { overlaps } from '../../model/overlaps.ts'
import { attach, attachAndWait, attached } from '../../rows/attacher/scene.ts'
import { grown, raised, resized } from '../../rows/resizer/scene.ts'
import { ELECTION, surroundings, type WorkScene, type WorkSetup, scene as workScene } from '../../rows/work.ts'

/** Returns the names of the Leases that the Go sidecars use for the test's driver. */
function leasesOf({ driverName }: TestContext): { readonly attacher: string; readonly resizer: string } {
  return { attacher: leaseName('attacher', driverName), resizer: leaseName('resizer', driverName) }
}

/** Starts attacher and resizer in one process, and waits for their watches. */
export function scene(t: TestContext, setup: WorkSetup = {}): Promise<WorkScene> {
  return workScene(t, { ...setup, app: 'both' })
}

const test = testsOf('both', 'one process')
const OURS = { only: 'ours' } as const

/** Attaches a volume and expands another, and waits until both are done. */
async function workOfBoth(t: TestContext, at: { readonly node: string }, suffix = ''): Promise<void> {
  await attach(t, at, { suffix: `${suffix}-a` })
  await raised(t, { suffix: `${suffix}-r` })
  await attached(t, t.name(`va${suffix}-a`))
  await resized(t, '2Gi', t.name(`pvc${suffix}-r`))
}

test('a resizer without permission for claims does not delay attaches, and /readyz reports it', OURS, async (t) => {
  const rules = [...FACTS.attacher.rules, ...FACTS.resizer.rules]
  const user = await userWith(
    t,
    rules.filter(({ resources }) => !resources?.includes('persistentvolumeclaims')),
  )
  const at = await scene(t, { user, watches: ['volumeattachments', 'csinodes', 'persistentvolumes'] })
  await attachAndWait(t, at)
  const { code, text } = await at.sidecar.http('/readyz')
  equal(code, 503)
  match(text, /cache of PersistentVolumeClaims of csi-resizer is not filled yet/)
  ok(!text.includes('csi-attacher'), text)
  await t.api.merge(CLUSTER_ROLES, { name: t.name('role') }, { rules })
  await grown(t, { suffix: '-later' })
})

test('a lost Lease stops only the controller that held it', {
  ...OURS,
  within: 180_000,
}, async (t) => {
  const args = [...ELECTION.slice(1), '--attacher-leader-election', '--resizer-leader-election']
  const at = await scene(t, { args })
  await workOfBoth(t, at)
  equal((await at.sidecar.http('/healthz/leader-election')).code, 200)
  const name = leasesOf(t).resizer
  const ref = { namespace: 'default', name }
  const renewTime = new Date().toISOString().replace('Z', '000Z')
  await t.api.merge(LEASES, ref, { spec: { holderIdentity: 'another-holder', renewTime } })
  const lost = await at.sidecar.line('Stopped leading')
  match(lost, /sidecar="csi-resizer"/)
  await attachAndWait(t, at, { suffix: '-meanwhile' })
  const status = async (lease: string): Promise<number | undefined> =>
    (await at.sidecar.metrics()).value('leader_election_master_status', { name: lease })
  equal(await status(leasesOf(t).attacher), 1)
  await eventually('the resizer leads again', async () => (await status(name)) === 1, { within: 20_000 })
  await workOfBoth(t, at, '-after')
  equal(at.sidecar.linesWith('Stopped leading').length, 1)
  equal(at.sidecar.exit, undefined)
})

const rollouts = testsOf('both', 'rolling updates')

/** The duration of a call: long enough to overlap with a call of another leader. */
const CALL_MS = 400
const BEGINS_EVERY_MS = 700
const CALLS = ['ControllerPublishVolume', 'ControllerUnpublishVolume', 'ControllerExpandVolume']

type Kind = 'original' | 'ours' | 'one'

interface Pod {
  readonly driver: FakeDriver
  readonly sidecars: readonly RunningSidecar[]
}

/** Starts a driver with its sidecars: the two Go sidecars, two of ours, or the combined process. */
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

/** Waits until the pod's sidecars wait for both Leases, which two log lines report. */
function campaigns({ sidecars }: Pod): Promise<unknown> {
  const waiting = (): boolean =>
    sidecars.reduce((sum, each) => sum + each.linesWith('ttempting to acquire leader lease').length, 0) >= 2
  return eventually('a pod that campaigns for both leases', waiting, { within: 20_000 })
}

/** Replaces old pods one by one: starts a new pod, then ends an old pod, as a Deployment does. */
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

/** Attaches, expands and detaches volumes until `end` is called. */
function load(t: TestContext, node: string): Load {
  let over = false
  const current: Load = {
    begun: 0,
    end: async () => {
      over = true
      await running
    },
  }
  const running = repeat(BEGINS_EVERY_MS, async () => {
    const suffix = `-${current.begun}`
    current.begun += 1
    await attach(t, { node }, { suffix: `${suffix}-a` })
    await raised(t, { suffix: `${suffix}-r` })
    const [leaving] = await leavingOf(t, current.begun)
    if (leaving !== undefined) await t.api.delete(VOLUME_ATTACHMENTS, { name: leaving })
    return !over
  })
  return current
}

/** Returns the attachment to delete, if any: in every second round, the attachment of six rounds ago. */
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

rollouts(
  'rollouts between the Go sidecars, our sidecars and the combined process lose no work and overlap no calls',
  { only: 'ours', alone: 'cluster', within: 400_000 },
  async (t) => {
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
    equal(overlaps(t.drivers.flatMap(({ calls }) => calls)), [])
    ok(t.drivers.flatMap((driver) => driver.callsOf('ControllerUnpublishVolume')).length > 0, 'nothing was detached')
  },
)

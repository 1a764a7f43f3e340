import { freePort } from '@csi-sidecars/emulator'
import { pause } from '../../../e2e/harness/waiting.ts'
import type { Ground } from '../ground.ts'
import { bound, growing, moreBound, nodes, raise, volumes } from '../objects.ts'
import { type Bench, type BenchScene, interleaved } from '../scene.ts'
import { APPS } from '../side.ts'
import type { Subject } from '../subject.ts'
import { ATTACHED, ATTACHES, attachTimes, BETWEEN_ATTACHES_MS, percentile } from './latency.ts'
import { DRIVER, populate } from './loaded.ts'

const QUIET_MS = 10_000
const SETTLED_MS = 25_000
const BAD_CLAIMS = 10_000
const RAISED_CLAIMS = 1000

/** How the same work is run: both controllers in one process, livenessprobe with them, two of ours, or the two originals. */
export type Layout = 'one' | 'three' | 'two' | 'original'

/** Both controllers in one process, compared with the same work in two processes. */
export const oneProcess: BenchScene = {
  name: 'one-process',
  title: 'Both in one process',
  conditions:
    'Memory is the sum of the processes; that of two processes of ours has its own rows. Attaches are requested ' +
    `every ${BETWEEN_ATTACHES_MS} ms, ${ATTACHES} in all; their time is that until ControllerPublishVolume, ours each ` +
    'time. Beside the attacher alone no claims are expanded; beside two processes the server, the driver and the ' +
    'machine have the same work as beside one. A claim that fails is refused by the driver at once.',
  async run(bench) {
    bench.printLine('  memory, idle')
    await memory(bench, { label: 'RSS idle (MiB)', driver: 'idle.example.com', settledMs: QUIET_MS })
    bench.printLine('  memory, with many objects')
    const many = { label: 'RSS with 20,000 objects of each kind (MiB)', driver: DRIVER, settledMs: SETTLED_MS }
    await memory(bench, { ...many, prepare: (ground) => populate(bench, ground) })
    bench.printLine('  attaches')
    await latency(bench)
  },
}

interface Memory {
  readonly label: string
  readonly driver: string
  readonly settledMs: number
  readonly prepare?: (ground: Ground) => Promise<void>
}

/** The end of a figure's label. */
const SUFFIX: Readonly<Record<Layout, string>> = {
  one: '',
  three: ', with livenessprobe',
  two: ', two processes',
  original: '',
}

async function memory(bench: Bench, { label, driver, settledMs, prepare }: Memory): Promise<void> {
  await using ground = await bench.ground()
  await prepare?.(ground)
  // Once: these figures differ by a few percent from round to round, and each takes half a minute.
  await interleaved({ ...bench, rounds: 1 }, async (side, round) => {
    const layouts: readonly Layout[] = side === 'ours' ? ['one', 'three', 'two'] : ['original']
    for (const layout of layouts) {
      // Their own leases: earlier subjects release theirs late or not at all.
      const leaseNamespace = `${layout}-${round}`
      await ground.namespace(leaseNamespace)
      const subjects = await startLayout(ground, layout, { driver, leaseNamespace })
      await pause(settledMs)
      const sum = subjects.reduce((total, subject) => total + subject.cost().rss, 0)
      const what = `${label}${SUFFIX[layout]}`
      bench.figures.note('both', side, { [what]: sum })
      for (const subject of subjects) await subject.stop()
    }
  })
}

/** The processes of a layout; the attacher is in the first. */
export async function startLayout(
  ground: Ground,
  layout: Layout,
  { driver: name, leaseNamespace, args = [] }: { driver: string; leaseNamespace: string; args?: readonly string[] },
): Promise<readonly Subject[]> {
  const driver = await ground.driver(name)
  const common = { driver, leaseNamespace, args, side: layout === 'original' ? 'original' : 'ours' } as const
  if (layout === 'one') return [await ground.start({ ...common, app: 'attacher', together: 'both' })]
  if (layout === 'three') {
    const controllers = '--controllers=attacher,resizer,livenessprobe'
    const probe = [controllers, `--livenessprobe-health-port=${await freePort()}`]
    return [await ground.start({ ...common, args: [...args, ...probe], app: 'attacher', together: 'both' })]
  }
  const subjects: Subject[] = []
  for (const app of APPS) subjects.push(await ground.start({ ...common, app }))
  return subjects
}

/** The work of the resizer during the attaches. */
interface Beside {
  readonly label: string
  readonly claims: number
  readonly refused: boolean
}

async function latency(bench: Bench): Promise<void> {
  const cases: readonly Beside[] = [
    { label: 'claims that fail', claims: bench.sized(BAD_CLAIMS), refused: true },
    { label: 'claims that are raised', claims: bench.sized(RAISED_CLAIMS), refused: false },
  ]
  for (const beside of cases) {
    for (const layout of ['alone', 'two', 'one'] as const) await attaches(bench, beside, layout)
  }
}

async function attaches(
  bench: Bench,
  { label, claims, refused }: Beside,
  layout: 'alone' | 'one' | 'two',
): Promise<void> {
  await using ground = await bench.ground()
  const driver = await ground.driver('work.example.com')
  if (refused) driver.on('ControllerExpandVolume', { code: 3, message: 'never' })
  const count = bench.sized(ATTACHES)
  await nodes(ground, driver.name)
  await growing(ground, driver.name)
  await volumes(ground, driver.name, { count, prefix: ATTACHED })
  await bound(ground, driver.name, { name: 'claim-0' })
  await moreBound(ground, { count: claims, prefix: 'claim' })
  const common = { side: 'ours', driver } as const
  const subject = await ground.start({ ...common, app: 'attacher', together: layout === 'one' ? 'both' : undefined })
  const other = layout === 'two' ? await ground.start({ ...common, app: 'resizer' }) : undefined
  await pause(QUIET_MS)
  const raising = ground.each(claims, (index) => raise(ground, `claim-${index}`))
  // Claims that fail are all raised before the attaches, because they fail continuously. Other claims are raised during
  // the attaches.
  if (refused) await raising
  const times = await attachTimes(ground, subject, { count })
  await raising
  bench.figures.note(layout === 'alone' ? 'attacher' : 'both', 'ours', {
    [`beside ${claims} ${label}: attach, p99 (ms)${layout === 'two' ? ', two processes' : ''}`]: percentile(
      times,
      0.99,
    ),
  })
  await subject.stop()
  await other?.stop()
}

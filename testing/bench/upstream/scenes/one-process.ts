import { pause } from '../../../e2e/harness/waiting.ts'
import type { Ground } from '../ground.ts'
import { type Bench, type BenchScene, interleaved } from '../scene.ts'
import { APPS } from '../side.ts'
import type { Subject } from '../subject.ts'
import { DRIVER, populate } from './loaded.ts'

const QUIET_MS = 10_000
const SETTLED_MS = 25_000

/** How the same work is run: both controllers in one process, two of ours, or the two originals. */
export type Layout = 'one' | 'two' | 'original'

/** Both controllers in one process, compared with the same work in two processes. */
export const oneProcess: BenchScene = {
  name: 'one-process',
  title: 'Both in one process',
  conditions: 'Memory is the sum of the processes; that of two processes of ours has its own rows.',
  async run(bench) {
    bench.printLine('  memory, idle')
    await memory(bench, { label: 'RSS idle (MiB)', driver: 'idle.example.com', settledMs: QUIET_MS })
    bench.printLine('  memory, with many objects')
    const many = { label: 'RSS with 20,000 objects of each kind (MiB)', driver: DRIVER, settledMs: SETTLED_MS }
    await memory(bench, { ...many, prepare: (ground) => populate(bench, ground) })
  },
}

interface Memory {
  readonly label: string
  readonly driver: string
  readonly settledMs: number
  readonly prepare?: (ground: Ground) => Promise<void>
}

async function memory(bench: Bench, { label, driver, settledMs, prepare }: Memory): Promise<void> {
  await using ground = await bench.ground()
  await prepare?.(ground)
  // Once: these figures differ by a few percent from round to round, and each takes half a minute.
  await interleaved({ ...bench, rounds: 1 }, async (side, round) => {
    for (const layout of side === 'ours' ? (['one', 'two'] as const) : (['original'] as const)) {
      // Their own leases: earlier subjects release theirs late or not at all.
      const leaseNamespace = `${layout}-${round}`
      await ground.namespace(leaseNamespace)
      const subjects = await startLayout(ground, layout, { driver, leaseNamespace })
      await pause(settledMs)
      const sum = subjects.reduce((total, subject) => total + subject.cost().rss, 0)
      bench.figures.note('both', side, { [`${label}${layout === 'two' ? ', two processes' : ''}`]: sum })
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
  const subjects: Subject[] = []
  for (const app of APPS) subjects.push(await ground.start({ ...common, app }))
  return subjects
}

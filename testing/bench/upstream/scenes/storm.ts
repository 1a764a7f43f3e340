import { pause } from '../../../e2e/harness/waiting.ts'
import type { Cost } from '../../process-cost.ts'
import { isWork, isWrite, type NotedRequest } from '../audit.ts'
import { type Bench, interleaved } from '../scene.ts'
import type { Side } from '../side.ts'
import type { Subject } from '../subject.ts'

/** Both sidecars with their own names for the same flags. */
export const OPENED = {
  attacher: ['--kube-api-qps=1000', '--kube-api-burst=1000', '--worker-threads=100'],
  resizer: ['--kube-api-qps=1000', '--kube-api-burst=1000', '--workers=100'],
}

/** The CPU time that an idle sidecar takes in this period. */
const QUIET = { cpuSeconds: 0.02, ms: 1000 }
const QUIET_WITHIN_MS = 15_000

/** The time that the originals need for one object under their default limits, with a margin. */
export const PER_OBJECT_MS = 1500

export interface Storm {
  readonly side: Side
  readonly round: number
  readonly count: number
  readonly args: readonly string[]
  /** The number of waves. They run one after another, each with different objects. */
  readonly waves: number
  /** The prefix of the noted figures, if several storms share a table. */
  readonly label?: string
}

/** Without flags for limits: few objects for both sides, and many for ours, which alone completes them in time. */
export async function withoutLimits(bench: Bench, storm: (how: Storm) => Promise<void>): Promise<void> {
  const [few, many] = [bench.sized(100), bench.sized(1000)]
  await interleaved({ ...bench, rounds: 1 }, (side) =>
    storm({ side, round: 1, count: few, args: [], waves: 1, label: `${few}: ` }),
  )
  bench.printLine(`  ${many}, ours`)
  await storm({ side: 'ours', round: 2, count: many, args: [], waves: 1, label: `${many}: ` })
}

/** The first wave of a process compiles code and fills the heap. The third wave shows the lasting cost. */
export const WAVES = 3

export interface Wave {
  readonly subject: Subject
  /** The names of the objects, which only this wave uses. */
  readonly names: readonly string[]
  readonly how: Storm
  readonly label: string | undefined
}

/** Each wave in turn, then the end of the process. */
export async function runWaves(how: Storm, subject: Subject, oneWave: (wave: Wave) => Promise<void>): Promise<void> {
  const { count, waves, side, round } = how
  for (let wave = 1; wave <= waves; wave += 1) {
    const names = Array.from({ length: count }, (_, index) => `${side}-${round}-${(wave - 1) * count + index}`)
    await oneWave({ subject, names, how, label: waveLabel(how, wave) })
  }
  await subject.stop()
}

/** The prefix of a wave's figures; undefined for a wave that is not noted. */
function waveLabel({ waves, label = '' }: Pick<Storm, 'waves' | 'label'>, wave: number): string | undefined {
  if (waves === 1) return label
  if (wave === 1) return `${label}first wave: `
  return wave === WAVES ? `${label}third wave: ` : undefined
}

export interface Phase {
  readonly seconds: number
  readonly cpuSeconds: number
  readonly writes: readonly NotedRequest[]
  readonly conflicts: number
  readonly events: number
}

/** Changes many objects, waits for the sidecar, and returns its cost. */
export async function phase(subject: Subject, run: () => Promise<void>): Promise<Phase> {
  const before = subject.cost()
  const from = Date.now()
  const started = performance.now()
  await run()
  const seconds = (performance.now() - started) / 1000
  const after = await quiet(subject)
  const requests = (await subject.requests()).filter(({ time }) => time >= from)
  const writes = requests.filter(isWork)
  return {
    seconds,
    cpuSeconds: after.cpuSeconds - before.cpuSeconds,
    writes,
    conflicts: writes.filter(({ code }) => code === 409).length,
    events: requests.filter(({ verb, resource, code }) => isWrite(verb) && resource === 'events' && code < 300).length,
  }
}

/** Work after the last object, such as events, belongs to the cost. */
async function quiet(subject: Subject): Promise<Cost> {
  const end = performance.now() + QUIET_WITHIN_MS
  let last = subject.cost()
  while (performance.now() < end) {
    await pause(QUIET.ms)
    const now = subject.cost()
    if (now.cpuSeconds - last.cpuSeconds <= QUIET.cpuSeconds) return now
    last = now
  }
  return last
}

// Runs the attacher under a steady load, with a fault every few seconds. Prints one line a minute. Fails if work is
// lost, or if memory or the number of descriptors grows.

import { join, resolve } from 'node:path'
import { NUMBER, readArguments } from '@csi-sidecars/command'
import { between, pick, seeded } from '@csi-sidecars/disturb'
import { PERSISTENT_VOLUMES } from '@csi-sidecars/kube-types'
import { refusal, retryAfter } from '../harness/api/gate.ts'
import { TestContext } from '../harness/context.ts'
import { median } from '../harness/median.ts'
import { anonymousMiB } from '../harness/process/memory.ts'
import { temporaryFolder } from '../harness/process/processes.ts'
import { eventually, pause } from '../harness/waiting.ts'
import { type AttacherScene, attach, attached, detachAndWait, scene } from '../tests/attacher/scene.ts'
import { copied } from '../tools/binaries.ts'
import { openCluster } from '../tools/open-cluster.ts'

const { values } = readArguments(
  'npm run soak -- [--hours N] [--seed N]',
  { options: { hours: { type: 'string', default: '1' }, seed: { type: 'string', default: '1' } } },
  { hours: NUMBER, seed: NUMBER },
)

/** The number of volumes that are attached and detached concurrently. */
const AT_WORK = 8
const FAULT_EVERY_MS = 5_000
const SAMPLE_EVERY_MS = 60_000
/** The time limit of each attach and detach. After it, the volume counts as lost. */
const LIMIT_MS = 90_000
/** The allowed growth of memory and descriptors from the second to the last quarter of the run. */
const GROWTH = 1.15

interface Sample {
  readonly anonymousMiB: number
  readonly descriptors: number
  readonly delaySeconds: number
}

const root = resolve(import.meta.dirname, '../../..')
const executables = copied(root)
const reports = join(root, '.cache', 'e2e', 'soak')
await using lane = await openCluster(root, 'emulator', reports)
const { cluster } = lane
const context = new TestContext({
  id: 'soak',
  app: 'attacher',
  target: 'emulator',
  binaries: 'ours',
  executables,
  originals: executables,
  cluster,
  folder: temporaryFolder('soak'),
})
try {
  process.exitCode = await soak(Number(values.hours) * 3_600_000)
} finally {
  context.report(reports, undefined)
  await context.close()
}

async function soak(ms: number): Promise<number> {
  const at = await scene(context, { args: ['--retry-interval-start=100ms', '--retry-interval-max=2s', '-v=0'] })
  const end = Date.now() + ms
  const tally = { done: 0, lost: [] as string[], faults: 0 }
  const samples: Sample[] = []
  const going = (): boolean => Date.now() < end && at.attacher.exit === undefined
  const workers = Array.from({ length: AT_WORK }, (_, worker) => work(at, worker, { going, tally }))
  await Promise.all([...workers, disturb(at, { going, tally }), watch(at, { going, tally }, samples)])
  const quarter = Math.floor(samples.length / 4)
  // Growth is checked only if there are at least four samples.
  const typical = (what: keyof Sample, from: number, to?: number): number =>
    median(samples.slice(from, to).map((sample) => sample[what]))
  const grown = (['anonymousMiB', 'descriptors'] as const).filter(
    (what) => quarter > 0 && typical(what, -quarter) > GROWTH * typical(what, quarter, 2 * quarter),
  )
  const { exit } = at.attacher
  printLine(
    `${tally.done} volumes attached and detached, ${tally.lost.length} lost, ${tally.faults} faults, seed ${values.seed}`,
  )
  for (const name of tally.lost) printLine(`lost: ${name}`)
  if (grown.length > 0) printLine(`grown: ${grown.join(', ')}`)
  if (exit !== undefined) printLine(`it ended: ${JSON.stringify(exit)}`)
  return tally.done > 0 && tally.lost.length + grown.length === 0 && exit === undefined ? 0 : 1
}

type Counts = { done: number; lost: string[]; faults: number }

interface Soak {
  readonly going: () => boolean
  readonly tally: Counts
}

/** Attaches and detaches one volume after another until the run ends. */
async function work(at: AttacherScene, worker: number, { going, tally }: Soak): Promise<void> {
  for (let nth = 0; going(); nth += 1) {
    const { pv, va } = await attach(context, at, { suffix: `-${worker}-${nth}` })
    try {
      await attached(context, va, { within: LIMIT_MS })
      await detachAndWait(context, va, { within: LIMIT_MS })
      tally.done += 1
    } catch (error) {
      tally.lost.push(`${va}: ${String(error).slice(0, 300)}`)
    }
    await context.api.delete(PERSISTENT_VOLUMES, { name: pv })
  }
}

/** Injects one random fault after another. The seed determines their order. */
async function disturb({ attacher, driver }: AttacherScene, { going, tally }: Soak): Promise<void> {
  const { gate } = attacher
  const random = seeded(Number(values.seed), 'soak')
  const inject = (fault: ReturnType<typeof refusal> | { kind: 'cut' } | { kind: 'loseAnswer' }): void => {
    let left = between(random, 1, 20)
    gate.rules.push(({ watch }) => {
      if (left === 0 || watch) return undefined
      left -= 1
      return fault
    })
  }
  const faults: readonly (() => Promise<void> | void)[] = [
    () => gate.dropWatches(),
    () => inject(refusal(500, 'InternalError', 'injected failure')),
    () => inject(refusal(409, 'Conflict', 'injected failure')),
    () => inject(retryAfter(1, refusal(429, 'TooManyRequests', 'injected pause'))),
    () => inject({ kind: 'cut' }),
    () => inject({ kind: 'loseAnswer' }),
    () => cluster.compact(),
    () =>
      driver.on('ControllerPublishVolume', (_, nth) =>
        nth < 5 ? { code: 13, message: 'injected failure' } : { reply: {} },
      ),
    () => driver.on('ControllerUnpublishVolume', (_, nth) => (nth < 2 ? 'hang' : { reply: {} })),
    async () => {
      driver.kill()
      await pause(between(random, 1, 2000))
      await driver.start()
    },
    async () => {
      await gate.close()
      await pause(between(random, 1, 3000))
      await gate.open()
    },
    async () => {
      attacher.signal('SIGSTOP')
      await pause(between(random, 1, 2000))
      attacher.signal('SIGCONT')
    },
  ]
  while (going()) {
    await pause(FAULT_EVERY_MS)
    gate.rules.length = 0
    await pick(random, faults)?.()
    tally.faults += 1
    // The recorded requests and calls are dropped, because hours of them would fill the memory of this process.
    gate.requests.length = 0
    driver.calls.length = 0
  }
  gate.rules.length = 0
}

async function watch({ attacher }: AttacherScene, { going, tally }: Soak, samples: Sample[]): Promise<void> {
  const began = Date.now()
  for (let next = began + SAMPLE_EVERY_MS; going(); next += SAMPLE_EVERY_MS) {
    while (Date.now() < next && going()) await pause(500)
    if (attacher.exit !== undefined) return
    const metrics = await eventually('metrics', () => attacher.metrics())
    const sample = {
      anonymousMiB: anonymousMiB(attacher.pid),
      descriptors: metrics.value('process_open_fds') ?? Number.NaN,
      delaySeconds: metrics.value('nodejs_eventloop_lag_max_seconds') ?? Number.NaN,
    }
    samples.push(sample)
    const { descriptors, delaySeconds } = sample
    const minutes = Math.round((Date.now() - began) / 60_000)
    printLine(
      `${minutes} of ${Math.round(Number(values.hours) * 60)} min: ${tally.done} volumes, ${tally.lost.length} lost, ${tally.faults} faults; ` +
        `${sample.anonymousMiB.toFixed(1)} MiB, ${descriptors} descriptors, delay ${delaySeconds.toFixed(3)} s`,
    )
  }
}

function printLine(line: string): void {
  process.stdout.write(`${line}\n`)
}

// Runs all five controllers in one process under a steady load, with a fault every few seconds. Prints one line a
// minute. Fails if work is lost, if memory or file descriptors grow, or if the chart's memory limit is too low.

import { join, resolve } from 'node:path'
import { NUMBER, readArguments } from '@csi-sidecars/command'
import { between, pick, seeded } from '@csi-sidecars/disturb'
import { freePort } from '@csi-sidecars/emulator'
import {
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolumeClaim,
  VOLUME_SNAPSHOT_CONTENTS,
} from '@csi-sidecars/kube-types'
import { refusal, retryAfter } from '../harness/api/gate.ts'
import { openCluster } from '../harness/api/open-cluster.ts'
import { TestContext } from '../harness/context.ts'
import type { Call, DriverReply } from '../harness/driver/driver.ts'
import { median } from '../harness/median.ts'
import { memoryLimit, memoryOf } from '../harness/process/memory.ts'
import { temporaryFolder } from '../harness/process/processes.ts'
import { copied } from '../harness/programs/binaries.ts'
import { eventually, repeat } from '../harness/waiting.ts'
import { attach, attached, detachAndWait } from '../rows/attacher/scene.ts'
import { claimRef, createClaim, provisionedVolume, setPhase } from '../rows/provisioner/scene.ts'
import { raised } from '../rows/resizer/scene.ts'
import { createContent, remove, snapshot } from '../rows/snapshotter/scene.ts'
import { pod, QUICK, type WorkScene } from '../rows/work.ts'

const { values } = readArguments(
  'npm run soak -- [--hours N] [--seed N]',
  { options: { hours: { type: 'string', default: '1' }, seed: { type: 'string', default: '1' } } },
  { hours: NUMBER, seed: NUMBER },
)

/** The number of volumes on which the sidecars work at the same time. */
const AT_WORK = 8
const FAULT_EVERY_MS = 5_000
const SAMPLE_EVERY_MS = 60_000
/** The time limit of each step in a volume's life cycle. If a step takes longer, its work counts as lost. */
const LIMIT_MS = 90_000
/** The allowed ratio of memory and file descriptors between the last and the second quarter of the run. */
const GROWTH = 1.15
/** The memory limit of the chart for one process with all controllers. */
const LIMIT_MIB = 384
const METHODS = [
  'CreateVolume',
  'DeleteVolume',
  'ControllerPublishVolume',
  'ControllerUnpublishVolume',
  'ControllerExpandVolume',
  'CreateSnapshot',
  'DeleteSnapshot',
]

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
  cluster,
  folder: temporaryFolder('soak'),
})
const limited = { name: `csi-soak-${process.pid}`, program: executables.both, folder: context.folder }
const limit = memoryLimit(LIMIT_MIB, limited)
try {
  process.exitCode = await soak(Number(values.hours) * 3_600_000)
} finally {
  context.report(reports, undefined)
  await context.close()
  limit?.remove()
}

async function soak(ms: number): Promise<number> {
  if (limit === undefined) printLine('without a memory limit: it needs root')
  const healthPort = await freePort()
  const at = await pod(context, {
    more: ['livenessprobe'],
    args: [...QUICK, '-v=0', `--livenessprobe-health-port=${healthPort}`],
    binary: limit?.binary,
  })
  const end = Date.now() + ms
  const tally = { done: 0, lost: 0, faults: 0 }
  const samples: Sample[] = []
  const going = (): boolean => Date.now() < end && at.sidecar.exit === undefined
  const workers = Array.from({ length: AT_WORK }, (_, worker) => work(at, worker, { going, tally }))
  await Promise.all([...workers, disturb(at, { going, tally }), watch(at, { going, tally }, samples)])
  await eventually('a healthy driver', async () => (await fetch(`http://127.0.0.1:${healthPort}/healthz`)).ok)
  const quarter = Math.floor(samples.length / 4)
  // Growth is checked only if there are at least four samples.
  const typical = (figure: keyof Sample, from: number, to?: number): number =>
    median(samples.slice(from, to).map((sample) => sample[figure]))
  const grown = (['anonymousMiB', 'descriptors'] as const).filter(
    (figure) => quarter > 0 && typical(figure, -quarter) > GROWTH * typical(figure, quarter, 2 * quarter),
  )
  const peak = limit === undefined ? '' : `, at most ${limit.peakMib().toFixed(0)} of ${LIMIT_MIB} MiB`
  printLine(`${tally.done} lives of volumes, ${tally.lost} lost, ${tally.faults} faults, seed ${values.seed}${peak}`)
  if (grown.length > 0) printLine(`grown: ${grown.join(', ')}`)
  if (at.sidecar.exit) printLine(`it ended: ${JSON.stringify(at.sidecar.exit)}`)
  return tally.done > 0 && tally.lost + grown.length === 0 && !at.sidecar.exit ? 0 : 1
}

interface Soak {
  readonly going: () => boolean
  readonly tally: { done: number; lost: number; faults: number }
}

/** Creates, uses and deletes one volume after another until the time is over. */
async function work(at: WorkScene, worker: number, { going, tally }: Soak): Promise<void> {
  for (let nth = 0; going(); nth += 1) {
    const suffix = `-${worker}-${nth}`
    try {
      await createdAndDeleted(suffix)
      await attachedAndDetached(at, suffix)
      await expanded(suffix)
      await snapshotted(suffix)
      tally.done += 1
    } catch (error) {
      tally.lost += 1
      printLine(`lost: ${suffix}, ${String(error).slice(0, 300)}`)
    }
  }
}

async function createdAndDeleted(suffix: string): Promise<void> {
  const uid = await createClaim(context, { suffix: `-new${suffix}` })
  const { metadata } = await provisionedVolume(context, uid, LIMIT_MS)
  const name = metadata?.name ?? ''
  await context.api.delete(PERSISTENT_VOLUME_CLAIMS, claimRef(context, `-new${suffix}`))
  // The provisioner creates the volume once more if the answer to its first write was lost. So the phase is set again.
  const find = () => context.api.find(PERSISTENT_VOLUMES, { name })
  const release = () => setPhase(context, name, 'Released').then(find, find)
  await eventually(`${name} deleted`, async () => (await release()) === undefined, { within: LIMIT_MS })
}

async function attachedAndDetached(at: WorkScene, suffix: string): Promise<void> {
  const { pv, va } = await attach(context, at, { suffix })
  await attached(context, va, { within: LIMIT_MS })
  await detachAndWait(context, va, { within: LIMIT_MS })
  await context.api.delete(PERSISTENT_VOLUMES, { name: pv })
}

async function expanded(suffix: string): Promise<void> {
  const { pv, pvc } = await raised(context, { suffix: `-grown${suffix}` })
  const ref = { namespace: context.namespace, name: pvc }
  const isExpanded = ({ status }: PersistentVolumeClaim): boolean => status?.capacity?.['storage'] === '2Gi'
  await context.api.until(PERSISTENT_VOLUME_CLAIMS, { ...ref, within: LIMIT_MS }, isExpanded)
  await context.api.delete(PERSISTENT_VOLUME_CLAIMS, ref)
  await context.api.delete(PERSISTENT_VOLUMES, { name: pv })
}

async function snapshotted(suffix: string): Promise<void> {
  const volumeSnapshotRef = { namespace: 'default', name: 's', uid: `uid${suffix}` }
  const name = await createContent(context, { suffix: `content${suffix}`, spec: { volumeSnapshotRef } })
  const ref = { name, within: LIMIT_MS }
  await context.api.until(VOLUME_SNAPSHOT_CONTENTS, ref, ({ status }) => status?.readyToUse === true)
  await remove(context, name)
  await context.api.untilGone(VOLUME_SNAPSHOT_CONTENTS, { name }, { within: LIMIT_MS })
}

/** Injects one random fault after another. The seed determines their order. */
async function disturb({ sidecar, driver }: WorkScene, { going, tally }: Soak): Promise<void> {
  const { gate } = sidecar
  const random = seeded(Number(values.seed), 'soak')
  const inject = (fault: ReturnType<typeof refusal> | { kind: 'cut' } | { kind: 'loseAnswer' }): void => {
    let left = between(random, 1, 20)
    gate.rules.push(({ watch }) => {
      if (left === 0 || watch) return undefined
      left -= 1
      return fault
    })
  }
  const fail = (fault: (call: Call, nth: number) => DriverReply | undefined): void => {
    const method = pick(random, METHODS) ?? ''
    const usual = method === 'CreateSnapshot' ? snapshot() : { reply: {} }
    driver.on(method, (call, nth) => fault(call, nth) ?? usual)
  }
  const faults: readonly (() => Promise<void> | void)[] = [
    () => gate.dropWatches(),
    () => inject(refusal(500, 'InternalError', 'injected failure')),
    () => inject(refusal(409, 'Conflict', 'injected failure')),
    () => inject(retryAfter(1, refusal(429, 'TooManyRequests', 'injected pause'))),
    () => inject({ kind: 'cut' }),
    () => inject({ kind: 'loseAnswer' }),
    () => cluster.compact(),
    () => fail((_, nth) => (nth < 5 ? { code: 13, message: 'injected failure' } : undefined)),
    () => fail((_, nth) => (nth < 2 ? 'hang' : undefined)),
    () => driver.restart(between(random, 1, 2000)),
    () => gate.outage(between(random, 1, 3000)),
    () => sidecar.freeze(between(random, 1, 2000)),
  ]
  await repeat(FAULT_EVERY_MS, async () => {
    gate.rules.length = 0
    await pick(random, faults)?.()
    tally.faults += 1
    // The recorded requests and calls are dropped, because hours of them would fill the memory of this process.
    gate.requests.length = 0
    driver.calls.length = 0
    return going()
  })
  gate.rules.length = 0
}

async function watch({ sidecar }: WorkScene, { going, tally }: Soak, samples: Sample[]): Promise<void> {
  const began = Date.now()
  for (let next = began + SAMPLE_EVERY_MS; going(); next += SAMPLE_EVERY_MS) {
    await repeat(500, () => Date.now() < next && going())
    if (sidecar.exit !== undefined) return
    const metrics = await eventually('metrics', () => sidecar.metrics())
    const sample = {
      anonymousMiB: memoryOf(sidecar.pid).anonymous,
      descriptors: metrics.value('process_open_fds') ?? Number.NaN,
      delaySeconds: metrics.value('nodejs_eventloop_lag_max_seconds') ?? Number.NaN,
    }
    samples.push(sample)
    const { descriptors, delaySeconds } = sample
    const minutes = Math.round((Date.now() - began) / 60_000)
    printLine(
      `${minutes} of ${Math.round(Number(values.hours) * 60)} min: ${tally.done} lives, ${tally.lost} lost, ${tally.faults} faults; ` +
        `${sample.anonymousMiB.toFixed(1)} MiB, ${descriptors} descriptors, delay ${delaySeconds.toFixed(3)} s`,
    )
  }
}

function printLine(line: string): void {
  process.stdout.write(`${line}\n`)
}

import {
  CSI_NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolumeClaim,
  VOLUME_ATTACHMENTS,
  type VolumeAttachment,
} from '@csi-sidecars/kube-types'
import { pause } from '../../../e2e/harness/waiting.ts'
import type { Side } from '../figures.ts'
import { type Bench, type BenchScene, type BenchServer, interleaved } from '../ground.ts'
import { attach, createBoundClaim, growing, moreBound, moreVolumes, nodeOf, nodes, raise, volumes } from '../objects.ts'
import { type Cost, isWork, isWrite, type Measured, type NotedRequest } from '../subject.ts'
import { percentile, timesToCall, warmUp, workCalls } from '../work.ts'

/** One repetition of a storm against a running sidecar. Figures are recorded only if `label` is defined. */
export interface Wave {
  readonly subject: Measured
  /** The names of the wave's objects. No other wave uses them. */
  readonly names: readonly string[]
  readonly how: Storm
  readonly label: string | undefined
}

/** Flags that raise the limits. Attacher and resizer name the number of workers differently. */
const OPENED = {
  attacher: ['--kube-api-qps=1000', '--kube-api-burst=1000', '--worker-threads=100'],
  resizer: ['--kube-api-qps=1000', '--kube-api-burst=1000', '--workers=100'],
}

/** A sidecar counts as idle if it uses at most this CPU time in this period. */
const QUIET = { cpuSeconds: 0.02, ms: 1000 }
const QUIET_WITHIN_MS = 15_000

/** The time-out per object. It exceeds the time that the Go sidecars need under their default limits. */
const PER_OBJECT_MS = 1500

/** A load of `count` objects for one implementation in one round. Each wave creates or changes that many objects. */
export interface Storm {
  readonly side: Side
  readonly round: number
  readonly count: number
  readonly args: readonly string[]
  /** The number of repetitions (waves), each with different objects. */
  readonly waves: number
  /** The prefix of the names of the figures. It distinguishes several storms in one table of results. */
  readonly label?: string
}

/** Runs a storm with default rate limits: few objects for both implementations, then many objects for ours only. */
export async function withoutLimits(bench: Bench, storm: (how: Storm) => Promise<void>, most = 1000): Promise<void> {
  const [few, many] = [bench.sized(100), bench.sized(most)]
  await interleaved({ ...bench, rounds: 1 }, (side) =>
    storm({ side, round: 1, count: few, args: [], waves: 1, label: `${few}: ` }),
  )
  bench.printLine(`  ${many}, ours`)
  await storm({ side: 'ours', round: 2, count: many, args: [], waves: 1, label: `${many}: ` })
}

/** The number of waves. The first wave includes the warm-up; the third wave shows the lasting cost. */
export const WAVES = 3

/** Runs a storm of 1,000 objects with these flags, three waves for each implementation. */
async function threeWaves(
  bench: Bench,
  storm: (bench: Bench, ground: BenchServer, how: Storm) => Promise<void>,
  args: readonly string[],
): Promise<void> {
  await using ground = await bench.ground()
  const count = bench.sized(1000)
  await interleaved(bench, (side, round) => storm(bench, ground, { side, round, count, args, waves: WAVES }))
}

/** Runs the waves one after the other, then stops the sidecar. */
export async function runWaves(how: Storm, subject: Measured, oneWave: (wave: Wave) => Promise<void>): Promise<void> {
  const { count, waves, side, round } = how
  for (let wave = 1; wave <= waves; wave += 1) {
    const names = Array.from({ length: count }, (_, index) => `${side}-${round}-${(wave - 1) * count + index}`)
    await oneWave({ subject, names, how, label: waveLabel(how, wave) })
  }
  await subject.stop()
}

/** Returns the prefix for a wave's figures. Undefined if the figures of the wave are not recorded. */
function waveLabel({ waves, label = '' }: Pick<Storm, 'waves' | 'label'>, wave: number): string | undefined {
  if (waves === 1) return label
  if (wave === 1) return `${label}first wave: `
  return wave === WAVES ? `${label}third wave: ` : undefined
}

interface Phase {
  readonly seconds: number
  readonly cpuSeconds: number
  readonly writes: readonly NotedRequest[]
  readonly conflicts: number
  readonly events: number
}

/** Calls `run`, waits until the sidecar is idle, and returns the cost of the sidecar's work. */
export async function phase(subject: Measured, run: () => Promise<void>): Promise<Phase> {
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

/** Waits until the sidecar is idle and returns its cost, which includes late work such as events. */
async function quiet(subject: Measured): Promise<Cost> {
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

const NODES = 50

export const attachStorm: BenchScene = {
  name: 'attach-storm',
  title: '1,000 attachments at once, with raised limits',
  conditions:
    `${OPENED.attacher.join(' ')}; a driver that answers at once; ${NODES} nodes. Three waves in one process, each with ` +
    'other volumes: 1,000 attaches and, when all is done, their detaches. The first wave compiles.',
  run: (bench) => threeWaves(bench, attaches, OPENED.attacher),
}

export const attachStormDefaults: BenchScene = {
  name: 'attach-storm-defaults',
  title: 'Attachments at once, no limits given',
  conditions:
    'No flag for rate or workers: the Go sidecar then sends 5 requests a second, ours as many as the server grants. ' +
    '100 for both; 1,000 for ours alone, because the Go sidecar needs ten minutes.',
  async run(bench) {
    await using ground = await bench.ground()
    await withoutLimits(bench, (how) => attaches(bench, ground, how))
  },
}

async function attaches(bench: Bench, ground: BenchServer, how: Storm): Promise<void> {
  const { side, round, count, args, waves } = how
  const driver = await ground.driver(`${side}-${round}.attach.example.com`)
  const prefix = `${side}-${round}`
  await nodes(ground, driver.name, NODES)
  await volumes(ground, driver.name, { count: 1, prefix })
  await moreVolumes(ground, { count: count * waves, prefix })
  const subject = await ground.start({ side, app: 'attacher', driver, args })
  await warmUp(ground, subject)
  await runWaves(how, subject, (wave) => attachWave(bench, ground, wave))
  await ground.clear(VOLUME_ATTACHMENTS, PERSISTENT_VOLUMES, CSI_NODES)
}

/** Attaches all volumes of a wave, then detaches them. */
async function attachWave(
  { figures }: Bench,
  ground: BenchServer,
  { subject, names, how, label }: Wave,
): Promise<void> {
  const { driver } = subject
  const count = names.length
  using seen = await ground.observe(VOLUME_ATTACHMENTS)
  const callsBefore = workCalls('attacher', driver).length
  const isOwn = ({ spec }: VolumeAttachment): boolean => spec.attacher === driver.name
  const within = 30_000 + count * PER_OBJECT_MS
  const requested = new Map<string, number>()
  const attaching = await phase(subject, async () => {
    await ground.each(count, async (index) => {
      const name = names[index] ?? ''
      requested.set(name, Date.now())
      await attach(ground, driver.name, { name, node: nodeOf(driver.name, index % NODES) })
    })
    await seen.until('are attached', (va) => isOwn(va) && va.status?.attached === true, { count, within })
  })
  const calls = workCalls('attacher', driver).slice(callsBefore)
  const detaching = await phase(subject, async () => {
    await ground.each(count, (index) => ground.api.delete(VOLUME_ATTACHMENTS, { name: names[index] ?? '' }))
    await seen.until('are left', isOwn, { count: 0, within })
  })
  if (label === undefined) return
  figures.note('attacher', how.side, {
    [`${label}attached (s)`]: attaching.seconds,
    [`${label}detached (s)`]: detaching.seconds,
  })
  if (how.waves === 1) return
  figures.note('attacher', how.side, {
    [`${label}request to ControllerPublishVolume, median (s)`]: percentile(timesToCall(calls, requested), 0.5) / 1000,
    [`${label}CPU per 1,000 attaches (s)`]: (attaching.cpuSeconds * 1000) / count,
    [`${label}CPU per 1,000 detaches (s)`]: (detaching.cpuSeconds * 1000) / count,
    [`${label}writes per attach, the first of a volume`]: attaching.writes.length / count,
    [`${label}writes per detach`]: detaching.writes.length / count,
    [`${label}ControllerPublishVolume per attach`]: calls.length / count,
    [`${label}RSS at its peak (MiB)`]: subject.cost().peak,
  })
}

export const resizeStorm: BenchScene = {
  name: 'resize-storm',
  title: '1,000 claims raised at once, with raised limits',
  conditions:
    `${OPENED.resizer.join(' ')}; a driver that answers at once and needs nothing of the node. Three waves in one ` +
    'process, each of 1,000 other claims. The first wave compiles.',
  run: (bench) => threeWaves(bench, resizes, OPENED.resizer),
}

export const resizeStormDefaults: BenchScene = {
  name: 'resize-storm-defaults',
  title: 'Claims raised at once, no limits given',
  conditions: 'As with attachments: 100 for both; 1,000 for ours alone, because the Go sidecar needs eleven minutes.',
  async run(bench) {
    await using ground = await bench.ground()
    await withoutLimits(bench, (how) => resizes(bench, ground, how))
  },
}

async function resizes(bench: Bench, ground: BenchServer, how: Storm): Promise<void> {
  const { side, round, count, args, waves } = how
  const driver = await ground.driver(`${side}-${round}.resize.example.com`)
  const prefix = `${side}-${round}`
  await growing(ground, driver.name)
  await createBoundClaim(ground, driver.name, { name: `${prefix}-0` })
  await moreBound(ground, { count: count * waves, prefix })
  const subject = await ground.start({ side, app: 'resizer', driver, args })
  await warmUp(ground, subject)
  await runWaves(how, subject, (wave) => resizeWave(bench, ground, wave))
  await ground.clear(PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES)
}

async function resizeWave(
  { figures }: Bench,
  ground: BenchServer,
  { subject, names, how, label }: Wave,
): Promise<void> {
  const { driver } = subject
  const count = names.length
  using seen = await ground.observe(PERSISTENT_VOLUME_CLAIMS)
  const ownNames = new Set(names)
  const callsBefore = workCalls('resizer', driver).length
  const requested = new Map<string, number>()
  const resizing = await phase(subject, async () => {
    await ground.each(count, async (index) => {
      const name = names[index] ?? ''
      requested.set(name, Date.now())
      await raise(ground, name)
    })
    const isResized = ({ metadata, status }: PersistentVolumeClaim): boolean =>
      ownNames.has(metadata?.name ?? '') && status?.capacity?.['storage'] === '2Gi'
    await seen.until('are resized', isResized, { count, within: 30_000 + count * PER_OBJECT_MS })
  })
  const calls = workCalls('resizer', driver).slice(callsBefore)
  if (label === undefined) return
  figures.note('resizer', how.side, { [`${label}resized (s)`]: resizing.seconds })
  if (how.waves === 1) return
  figures.note('resizer', how.side, {
    [`${label}request to ControllerExpandVolume, median (s)`]: percentile(timesToCall(calls, requested), 0.5) / 1000,
    [`${label}CPU per 1,000 (s)`]: (resizing.cpuSeconds * 1000) / count,
    [`${label}writes per claim`]: resizing.writes.length / count,
    [`${label}own conflicts per claim`]: resizing.conflicts / count,
    [`${label}event writes per claim`]: resizing.events / count,
    [`${label}ControllerExpandVolume per claim`]: calls.length / count,
    [`${label}RSS at its peak (MiB)`]: subject.cost().peak,
  })
}

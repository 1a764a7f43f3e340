import {
  type KubeObject,
  LEASES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  VOLUME_ATTACHMENTS,
  VOLUME_SNAPSHOT_CONTENTS,
} from '@csi-sidecars/kube-types'
import { claim } from '../../../e2e/harness/api/objects.ts'
import type { FakeDriver } from '../../../e2e/harness/driver/driver.ts'
import { SUBJECTS, type TestedApp } from '../../../e2e/harness/subject.ts'
import { eventually, pause } from '../../../e2e/harness/waiting.ts'
import type { Side } from '../figures.ts'
import { type Bench, type BenchScene, type BenchServer, interleaved } from '../ground.ts'
import { attach, classOf, growing, nodeOf, nodes, raise } from '../objects.ts'
import type { Observer } from '../observer.ts'
import { type Measured, stopAll, totalOf } from '../subject.ts'
import { SETTLED_MS } from '../work.ts'
import { DRIVER, populate } from './loaded.ts'
import {
  isReady,
  readyContents,
  removeSnapshot,
  snapshotClass,
  snapshotContent,
  snapshotGround,
  snapshotReply,
} from './snapshot.ts'
import { type Storm, withoutLimits } from './storm.ts'

const QUIET_MS = 10_000
const MINUTE_MS = 60_000
const STANDBY_MS = 4000
/** The time-out per object, well above the 0.6 s that the Go sidecar needs to provision a claim. */
const PER_OBJECT_MS = 2500

const ALL_CONTROLLERS = '--controllers=attacher,resizer,provisioner,snapshotter'
const LIMITS = ['--kube-api-qps=1000', '--kube-api-burst=1000']
const WORKERS: Readonly<Record<TestedApp, string>> = {
  attacher: 'worker-threads=100',
  resizer: 'workers=100',
  provisioner: 'worker-threads=100',
  snapshotter: 'worker-threads=100',
}
const APPS = SUBJECTS.map(({ app }) => app)

/** Compares all sidecars of a controller pod: one process of ours with the four Go sidecars. */
export const wholePod: BenchScene = {
  name: 'pod',
  title: 'The whole controller pod',
  conditions:
    'Attacher, resizer, provisioner and snapshotter: ours in one process, the Go sidecars in four. Figures are sums. ' +
    'Each phase of a life begins when the phase before has ended for all volumes. The driver answers at once. The ' +
    'bench does what the other controllers do (binding, releasing), outside the times. Default flags: 100 volumes for ' +
    'both, 500 for ours alone, because the Go sidecars need half an hour.',
  async run(bench) {
    await atRest(bench)
    await withManyObjects(bench)
    await livesOfVolumes(bench)
    await handover(bench)
  },
}

/** Starts one process of ours or the four Go sidecars, with their Leases in the given namespace. */
async function start(
  ground: BenchServer,
  side: Side,
  {
    driver,
    leaseNamespace,
    raised = false,
    hostname,
  }: { driver: FakeDriver; leaseNamespace: string; raised?: boolean; hostname?: string },
): Promise<readonly Measured[]> {
  const common = { side, driver, leaseNamespace, ...(hostname === undefined ? {} : { hostname }) }
  if (side === 'ours') {
    const workers = APPS.map((app) => `--${app}-${WORKERS[app]}`)
    const args = [ALL_CONTROLLERS, ...(raised ? [...LIMITS, ...workers] : [])]
    return [await ground.start({ ...common, app: 'attacher', together: 'pod', args })]
  }
  return await Promise.all(
    APPS.map((app) => ground.start({ ...common, app, args: raised ? [...LIMITS, `--${WORKERS[app]}`] : [] })),
  )
}

/** Waits until all Leases have holders. Returns the time at which the last Lease was acquired. */
async function leading(ground: BenchServer, subjects: readonly Measured[], leaseNamespace: string): Promise<number> {
  const [first] = subjects
  if (first === undefined) throw new Error('no process was started')
  return await first.until('all Leases', async () => {
    const heldLeases = (await ground.api.list(LEASES, leaseNamespace)).filter(({ spec }) => spec?.holderIdentity)
    return (
      heldLeases.length === APPS.length &&
      Math.max(...heldLeases.map(({ spec }) => Date.parse(spec?.acquireTime ?? '')))
    )
  })
}

async function atRest(bench: Bench): Promise<void> {
  bench.printLine('  at rest')
  await using ground = await snapshotGround(bench)
  await interleaved({ ...bench, rounds: 1 }, async (side) => {
    const leaseNamespace = `${side}-rest`
    await ground.namespace(leaseNamespace)
    const driver = await ground.driver(`${side}.rest.example.com`)
    const subjects = await start(ground, side, { driver, leaseNamespace })
    const started = Math.min(...subjects.map(({ sidecar }) => sidecar.started))
    const led = await leading(ground, subjects, leaseNamespace)
    await pause(QUIET_MS)
    const before = totalOf(subjects, 'cpuSeconds')
    const from = Date.now()
    await pause(MINUTE_MS)
    const to = Date.now()
    const memory = {
      'idle: RSS (MiB)': totalOf(subjects, 'rss'),
      'idle: of it anonymous (MiB)': totalOf(subjects, 'anonymous'),
      'idle: CPU per minute (s)': totalOf(subjects, 'cpuSeconds') - before,
    }
    await stopAll(subjects)
    const requests = (await Promise.all(subjects.map((subject) => subject.requests()))).flat()
    bench.figures.note('pod', side, {
      'exec to all Leases (s)': (led - started) / 1000,
      ...memory,
      'idle: requests per minute': requests.filter(({ time }) => time >= from && time < to).length,
      watches: requests.filter(({ verb, time }) => verb === 'watch' && time < from).length,
    })
  })
}

async function withManyObjects(bench: Bench): Promise<void> {
  bench.printLine('  with many objects')
  await using ground = await snapshotGround(bench)
  await populate(bench, ground)
  await snapshotClass(ground, DRIVER)
  await readyContents(ground, DRIVER, bench.sized(5000))
  await interleaved({ ...bench, rounds: 1 }, async (side) => {
    const leaseNamespace = `${side}-many`
    await ground.namespace(leaseNamespace)
    const subjects = await start(ground, side, { driver: await ground.driver(DRIVER), leaseNamespace })
    await pause(SETTLED_MS)
    bench.figures.note('pod', side, {
      '20,000 objects of each kind: RSS (MiB)': totalOf(subjects, 'rss'),
      '20,000 objects of each kind: of it anonymous (MiB)': totalOf(subjects, 'anonymous'),
      '20,000 objects of each kind: CPU of start and fill (s)': totalOf(subjects, 'cpuSeconds'),
    })
    await stopAll(subjects)
  })
}

async function livesOfVolumes(bench: Bench): Promise<void> {
  await using ground = await snapshotGround(bench)
  const count = bench.sized(500)
  bench.printLine('  lives with default flags')
  await withoutLimits(bench, (how) => lives(bench, ground, { ...how, label: `default flags, ${how.label}` }), count)
  bench.printLine('  lives with raised limits')
  const raised = { count, args: LIMITS, waves: 1, label: `raised limits, ${count}: ` }
  await interleaved(bench, (side, round) => lives(bench, ground, { side, round, ...raised }))
}

/** Measures the whole life of many volumes, from creation to deletion, phase by phase. */
async function lives(bench: Bench, ground: BenchServer, how: Storm): Promise<void> {
  const { side, round, count, label = '' } = how
  const raised = how.args.length > 0
  const prefix = `${side}-${raised ? 'raised' : 'default'}-${round}`
  const name = `${prefix}.example.com`
  await ground.namespace(prefix)
  const driver = await ground.driver(name)
  driver.on('CreateSnapshot', snapshotReply)
  await nodes(ground, name)
  await growing(ground, name)
  await snapshotClass(ground, name)
  const subjects = await start(ground, side, { driver, leaseNamespace: prefix, raised })
  await leading(ground, subjects, prefix)
  const from = Date.now()
  const cpuBefore = totalOf(subjects, 'cpuSeconds')
  const times = await phases(ground, { prefix, count, driver }, subjects)
  const cpu = totalOf(subjects, 'cpuSeconds') - cpuBefore
  const peak = totalOf(subjects, 'peak')
  await stopAll(subjects)
  const requests = (await Promise.all(subjects.map((subject) => subject.requests()))).flat()
  const totalSeconds = Object.values(times).reduce((total, seconds) => total + seconds, 0)
  bench.figures.note('pod', side, {
    ...Object.fromEntries(Object.entries(times).map(([name, seconds]) => [`${label}${name} (s)`, seconds])),
    [`${label}the whole life (s)`]: totalSeconds,
    [`${label}CPU (s)`]: cpu,
    [`${label}requests for a volume`]: requests.filter(({ time }) => time >= from).length / count,
    [`${label}RSS at its peak (MiB)`]: peak,
  })
  await ground.clear(VOLUME_ATTACHMENTS, PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES)
}

/** Runs all phases. Returns the duration of each phase in seconds. */
async function phases(
  ground: BenchServer,
  { prefix, count, driver: { name: driver } }: { prefix: string; count: number; driver: FakeDriver },
  subjects: readonly Measured[],
): Promise<Readonly<Record<string, number>>> {
  const { api } = ground
  using volumes = await ground.observe(PERSISTENT_VOLUMES)
  using claims = await ground.observe(PERSISTENT_VOLUME_CLAIMS)
  using attachments = await ground.observe(VOLUME_ATTACHMENTS)
  using contents = await ground.observe(VOLUME_SNAPSHOT_CONTENTS)
  const nameOf = (index: number): string => `${prefix}-${index}`
  const each = (make: (name: string) => Promise<unknown>) => ground.each(count, (index) => make(nameOf(index)))
  const isOurs = ({ spec }: PersistentVolume): boolean => spec?.csi?.driver === driver
  const times: Record<string, number> = {}
  const timed = async <T extends KubeObject>(
    name: string,
    make: (name: string) => Promise<unknown>,
    {
      seen,
      holds,
      expectedCount = count,
    }: { seen: Observer<T>; holds: (object: T) => boolean; expectedCount?: number },
  ): Promise<void> => {
    const from = performance.now()
    await each(make)
    await seen.until(`are ${name}`, holds, { count: expectedCount, within: 30_000 + count * PER_OBJECT_MS })
    times[name] = (performance.now() - from) / 1000
    for (const subject of subjects) subject.mustRun()
  }

  const annotations = { 'volume.kubernetes.io/storage-provisioner': driver }
  await timed(
    'created',
    (name) => {
      const claimObject = claim('default', name, { storageClassName: classOf(driver), metadata: { annotations } })
      return api.create(PERSISTENT_VOLUME_CLAIMS, claimObject)
    },
    { seen: volumes, holds: isOurs },
  )
  const volumeOf = await bind(ground, isOurs)
  await timed('attached', (name) => attach(ground, driver, { name: volumeOf(name), node: nodeOf(driver) }), {
    seen: attachments,
    holds: ({ spec, status }) => spec.attacher === driver && status?.attached === true,
  })
  await timed('expanded', (name) => raise(ground, name), {
    seen: claims,
    holds: ({ metadata, status }) =>
      metadata?.name?.startsWith(`${prefix}-`) === true && status?.capacity?.['storage'] === '2Gi',
  })
  await timed('snapshot', (name) => snapshotContent(ground, driver, name), {
    seen: contents,
    holds: (content) => content.spec?.driver === driver && isReady(content),
  })
  await timed('without snapshots', (name) => removeSnapshot(ground, name), {
    seen: contents,
    holds: ({ spec }) => spec?.driver === driver,
    expectedCount: 0,
  })
  await timed('detached', (name) => api.delete(VOLUME_ATTACHMENTS, { name: volumeOf(name) }), {
    seen: attachments,
    holds: ({ spec }) => spec.attacher === driver,
    expectedCount: 0,
  })
  const release = { status: { phase: 'Released' } }
  await timed(
    'deleted',
    (name) => api.merge(PERSISTENT_VOLUMES, { name: volumeOf(name), subresource: 'status' }, release),
    {
      seen: volumes,
      holds: (volume) => isOurs(volume) && !isDeleted(volume),
      expectedCount: 0,
    },
  )
  return times
}

/** Binds all claims to their volumes. Returns a function from the name of a claim to the name of its volume. */
async function bind(
  ground: BenchServer,
  isOurs: (volume: PersistentVolume) => boolean,
): Promise<(claimName: string) => string> {
  const { api } = ground
  const found = (await api.list(PERSISTENT_VOLUMES)).filter(isOurs)
  const names = new Map(found.map(({ metadata, spec }) => [spec?.claimRef?.name ?? '', metadata?.name ?? '']))
  const claims = [...names.keys()]
  const volumeOf = (claimName: string): string => names.get(claimName) ?? ''
  const status = { phase: 'Bound', accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' } }
  await ground.each(claims.length, async (index) => {
    const name = claims[index] ?? ''
    const ref = { namespace: 'default', name }
    await api.merge(PERSISTENT_VOLUME_CLAIMS, ref, { spec: { volumeName: volumeOf(name) } })
    await api.merge(PERSISTENT_VOLUME_CLAIMS, { ...ref, subresource: 'status' }, { status })
    const boundStatus = { status: { phase: 'Bound' } }
    await api.merge(PERSISTENT_VOLUMES, { name: volumeOf(name), subresource: 'status' }, boundStatus)
  })
  return volumeOf
}

/** Ignores the finalizer `kubernetes.io/pv-protection`, because no controller removes it here. */
function isDeleted({ metadata }: PersistentVolume): boolean {
  const kept = metadata?.finalizers ?? []
  return metadata?.deletionTimestamp != null && kept.every((finalizer) => finalizer === 'kubernetes.io/pv-protection')
}

/** Measures the time from SIGTERM of the leading pod until the other pod holds all Leases. */
async function handover(bench: Bench): Promise<void> {
  bench.printLine('  handover')
  await using ground = await snapshotGround(bench)
  await interleaved(bench, async (side, round) => {
    const leaseNamespace = `${side}-${round}`
    await ground.namespace(leaseNamespace)
    const name = `${side}-${round}.handover.example.com`
    const first = await start(ground, side, { driver: await ground.driver(name), leaseNamespace, hostname: 'first' })
    await leading(ground, first, leaseNamespace)
    const second = await start(ground, side, { driver: await ground.driver(name), leaseNamespace, hostname: 'second' })
    await pause(STANDBY_MS)
    const from = Date.now()
    for (const { sidecar } of first) sidecar.signal('SIGTERM')
    const isTaken = async (): Promise<boolean> =>
      (await ground.api.list(LEASES, leaseNamespace)).every(({ spec }) => spec?.holderIdentity?.startsWith('second'))
    await eventually('the other pod leads', isTaken, { within: 60_000, every: 20 })
    bench.figures.note('pod', side, { 'SIGTERM to the next leaders (s)': (Date.now() - from) / 1000 })
    await Promise.all([...first, ...second].map((subject) => subject.kill()))
  })
}

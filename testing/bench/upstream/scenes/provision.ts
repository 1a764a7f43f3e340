import {
  type KubeObject,
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type Resource,
  STORAGE_CLASSES,
} from '@csi-sidecars/kube-types'
import { claim } from '../../../e2e/harness/api/objects.ts'
import type { FakeDriver } from '../../../e2e/harness/driver/driver.ts'
import { pause } from '../../../e2e/harness/waiting.ts'
import { makeCopies } from '../copies.ts'
import { type Bench, type BenchScene, type BenchServer, interleaved } from '../ground.ts'
import { classOf, growing, nodeOf } from '../objects.ts'
import { noteFirstCall, noteMemory, SETTLED_MS, workCalls } from '../work.ts'
import { DRIVER, populate } from './loaded.ts'
import { phase, runWaves, type Storm, WAVES, type Wave, withoutLimits } from './storm.ts'

/** The objects of a storm whose sidecar creates something for each of them. */
export interface Creation<T extends KubeObject> {
  readonly app: 'provisioner' | 'snapshotter'
  readonly label: string
  readonly resource: Resource<T>
  readonly ask: (ground: BenchServer, driver: string, name: string) => Promise<void>
  /** Returns the name that was asked for, if its object is complete. */
  readonly completed: (object: T) => string | undefined
  readonly prepare: (ground: BenchServer, driver: FakeDriver) => Promise<void>
  readonly leaves: readonly Resource<KubeObject>[]
}

export const LIMITS = ['--kube-api-qps=1000', '--kube-api-burst=1000', '--worker-threads=100']
/** The time-out per object. With default limits, the Go provisioner needs 0.6 s per claim. */
const PER_OBJECT_MS = 2500
/** The time that the rate limiter of the Go provisioner needs to refill. */
const BUCKET_FULL_MS = 2500
const NODE_COUNT = 5000

export const provisionStorm: BenchScene = {
  name: 'provision-storm',
  title: '1,000 claims created at once, with raised limits',
  conditions:
    `${LIMITS.join(' ')}; a driver that answers at once, without topology. Three waves in one process, each of 1,000 ` +
    'other claims, until all PersistentVolumes exist. The first wave compiles.',
  async run(bench) {
    await using ground = await bench.ground()
    const count = bench.sized(1000)
    await interleaved(bench, (side, round) =>
      createAll(VOLUMES, { bench, ground }, { side, round, count, args: LIMITS, waves: WAVES }),
    )
  },
}

export const provisionStormDefaults: BenchScene = {
  name: 'provision-storm-defaults',
  title: 'Claims created at once, no limits given',
  conditions: 'As with attachments: 100 for both; 1,000 for ours alone.',
  async run(bench) {
    await using ground = await bench.ground()
    await withoutLimits(bench, (how) => createAll(VOLUMES, { bench, ground }, how))
  },
}

export const provisionLoaded: BenchScene = {
  name: 'provision-loaded',
  title: 'The provisioner with 20,000 objects of each kind',
  conditions:
    '20,000 PersistentVolumes, VolumeAttachments and PersistentVolumeClaims (half of each foreign), 5,000 Nodes and ' +
    `CSINodes; a driver with topology. One claim waits. Memory ${SETTLED_MS / 1000} s after its call.`,
  async run(bench) {
    await using ground = await bench.ground()
    const nodeCount = bench.sized(NODE_COUNT)
    await populate(bench, ground, nodeCount)
    await createNodes(ground, nodeCount)
    await interleaved(bench, async (side, round) => {
      const leaseNamespace = `${side}-${round}`
      await ground.namespace(leaseNamespace)
      const driver = await ground.driver(DRIVER)
      driver.setCapabilities({ topology: true })
      await ask(ground, DRIVER, `${leaseNamespace}-claim`)
      // The provisioner caches the nodes, but with this flag it does not need them to provision.
      const args = ['--immediate-topology=false']
      const subject = await ground.start({ side, app: 'provisioner', driver, args, leaseNamespace })
      await noteFirstCall(bench.figures, subject)
      await pause(SETTLED_MS)
      noteMemory(bench.figures, subject)
      await subject.stop()
    })
  },
}

/** Creates nodes with labels as on a cloud. */
async function createNodes(ground: BenchServer, count: number): Promise<void> {
  const name = nodeOf(DRIVER)
  const labels = {
    'kubernetes.io/hostname': name,
    'kubernetes.io/arch': 'amd64',
    'kubernetes.io/os': 'linux',
    'node.kubernetes.io/instance-type': 'm5.large',
    'topology.kubernetes.io/region': 'eu-west-1',
    'topology.kubernetes.io/zone': 'eu-west-1a',
  }
  await ground.api.create(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } })
  await makeCopies(ground, {
    originals: [{ resource: NODES, name }],
    count: count - 1,
    rename: (text, number) =>
      text.replace('/registry/nodes/', '/registry/minions/').replaceAll(name, nodeOf(DRIVER, number + 1)),
  })
}

/** Creates a claim with the annotation that asks the provisioner to create a volume. */
export async function ask({ api }: BenchServer, driver: string, name: string): Promise<void> {
  const annotations = { 'volume.kubernetes.io/storage-provisioner': driver }
  const claimObject = claim('default', name, { storageClassName: classOf(driver), metadata: { annotations } })
  await api.create(PERSISTENT_VOLUME_CLAIMS, claimObject)
}

const VOLUMES: Creation<PersistentVolume> = {
  app: 'provisioner',
  label: 'all PersistentVolumes exist (s)',
  resource: PERSISTENT_VOLUMES,
  ask,
  completed: ({ spec }) => spec?.claimRef?.name,
  prepare: (ground, driver) => growing(ground, driver.name),
  leaves: [PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES],
}

/** Runs a storm. Before its waves, a first object ensures that the sidecar leads and that its caches are full. */
export async function createAll<T extends KubeObject>(
  creation: Creation<T>,
  { bench, ground }: { readonly bench: Bench; readonly ground: BenchServer },
  how: Storm,
): Promise<void> {
  const { app, ask, completed, resource, leaves } = creation
  const driver = await ground.driver(`${how.side}-${how.round}.${app}.example.com`)
  await creation.prepare(ground, driver)
  const subject = await ground.start({ side: how.side, app, driver, args: how.args })
  await ask(ground, driver.name, 'warm-up')
  const isWarm = async (): Promise<boolean> => (await ground.api.list(resource)).some(completed)
  await subject.until('the first object', isWarm, 60_000)
  await ground.clear(...leaves.slice(0, -1))
  await pause(BUCKET_FULL_MS)
  await runWaves(how, subject, (wave) => oneWave(creation, { bench, ground }, wave))
  await ground.clear(...leaves)
}

async function oneWave<T extends KubeObject>(
  { app, label: done, resource, ask, completed }: Creation<T>,
  { bench: { figures }, ground }: { readonly bench: Bench; readonly ground: BenchServer },
  { subject, names, how, label }: Wave,
): Promise<void> {
  const { driver } = subject
  const count = names.length
  using seen = await ground.observe(resource)
  const ownNames = new Set(names)
  const callsBefore = workCalls(app, driver).length
  const creating = await phase(subject, async () => {
    await ground.each(count, (index) => ask(ground, driver.name, names[index] ?? ''))
    const isOwn = (object: T): boolean => ownNames.has(completed(object) ?? '')
    await seen.until('exist', isOwn, { count, within: 30_000 + count * PER_OBJECT_MS })
  })
  if (label === undefined) return
  figures.note(app, how.side, { [`${label}${done}`]: creating.seconds })
  if (how.waves === 1) return
  figures.note(app, how.side, {
    [`${label}CPU per 1,000 (s)`]: (creating.cpuSeconds * 1000) / count,
    [`${label}writes per object`]: creating.writes.length / count,
    [`${label}event writes per object`]: creating.events / count,
    [`${label}calls per object`]: (workCalls(app, driver).length - callsBefore) / count,
    [`${label}RSS at its peak (MiB)`]: subject.cost().peak,
  })
}

import {
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  STORAGE_CLASSES,
} from '@csi-sidecars/kube-types'
import { claim } from '../../../e2e/harness/api/objects.ts'
import { pause } from '../../../e2e/harness/waiting.ts'
import { makeCopies } from '../copies.ts'
import { type Bench, type BenchScene, type Ground, interleaved } from '../ground.ts'
import { classOf, growing, nodeOf } from '../objects.ts'
import type { Subject } from '../subject.ts'
import { workCalls } from '../work.ts'
import { DRIVER, populate } from './loaded.ts'
import { phase, runWaves, type Storm, WAVES, type Wave, withoutLimits } from './storm.ts'

const LIMITS = ['--kube-api-qps=1000', '--kube-api-burst=1000', '--worker-threads=100']
/** The time-out per claim. With default limits, the Go original needs 0.6 s per claim. */
const PER_CLAIM_MS = 2500
/** The time that the rate limiter of the Go original needs to refill. */
const BUCKET_FULL_MS = 2500
const SETTLED_MS = 25_000
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
    await interleaved(bench, (side, round) => storm(bench, ground, { side, round, count, args: LIMITS, waves: WAVES }))
  },
}

export const provisionStormDefaults: BenchScene = {
  name: 'provision-storm-defaults',
  title: 'Claims created at once, no limits given',
  conditions: 'As with attachments: 100 for both; 1,000 for ours alone.',
  async run(bench) {
    await using ground = await bench.ground()
    await withoutLimits(bench, (how) => storm(bench, ground, how))
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
      driver.capabilities.topology = true
      await ask(ground, DRIVER, `${leaseNamespace}-claim`)
      // The provisioner caches the nodes, but with this flag it does not need them to provision.
      const args = ['--immediate-topology=false']
      const subject = await ground.start({ side, app: 'provisioner', driver, args, leaseNamespace })
      const call = await subject.until('its first call', async () => workCalls('provisioner', driver)[0], 120_000)
      const { cpuSeconds } = subject.cost()
      await pause(SETTLED_MS)
      const { rss, anonymous, peak } = subject.cost()
      bench.figures.note('provisioner', side, {
        'exec to first call (s)': (call.start - subject.sidecar.started) / 1000,
        'CPU until then (s)': cpuSeconds,
        'RSS settled (MiB)': rss,
        'of it anonymous (MiB)': anonymous,
        'RSS at its peak (MiB)': peak,
      })
      await subject.stop()
    })
  },
}

/** Creates nodes with labels as on a cloud. */
async function createNodes(ground: Ground, count: number): Promise<void> {
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
export async function ask({ api }: Ground, driver: string, name: string): Promise<void> {
  const annotations = { 'volume.kubernetes.io/storage-provisioner': driver }
  const wanted = claim('default', name, { storageClassName: classOf(driver), metadata: { annotations } })
  await api.create(PERSISTENT_VOLUME_CLAIMS, wanted)
}

async function storm(bench: Bench, ground: Ground, how: Storm): Promise<void> {
  const { side, round, args } = how
  const driver = await ground.driver(`${side}-${round}.provision.example.com`)
  await growing(ground, driver.name)
  const subject = await ground.start({ side, app: 'provisioner', driver, args })
  await warmUp(ground, subject)
  await runWaves(how, subject, (wave) => oneWave(bench, ground, wave))
  await ground.clear(PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES)
}

async function warmUp(ground: Ground, subject: Subject): Promise<void> {
  const { driver } = subject
  await ask(ground, driver.name, 'warm-up')
  await subject.until('the first volume', async () => (await ground.api.list(PERSISTENT_VOLUMES)).length > 0, 60_000)
  await ground.clear(PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES)
  await pause(BUCKET_FULL_MS)
}

async function oneWave({ figures }: Bench, ground: Ground, { subject, names, how, label }: Wave): Promise<void> {
  const { driver } = subject
  const count = names.length
  using seen = await ground.observe(PERSISTENT_VOLUMES)
  const own = new Set(names)
  const callsBefore = workCalls('provisioner', driver).length
  const creating = await phase(subject, async () => {
    await ground.each(count, (index) => ask(ground, driver.name, names[index] ?? ''))
    const isOwn = ({ spec }: PersistentVolume): boolean => own.has(spec?.claimRef?.name ?? '')
    await seen.until('exist', isOwn, { count, within: 30_000 + count * PER_CLAIM_MS })
  })
  if (label === undefined) return
  figures.note('provisioner', how.side, { [`${label}all PersistentVolumes exist (s)`]: creating.seconds })
  if (how.waves === 1) return
  figures.note('provisioner', how.side, {
    [`${label}CPU per 1,000 (s)`]: (creating.cpuSeconds * 1000) / count,
    [`${label}writes per claim`]: creating.writes.length / count,
    [`${label}event writes per claim`]: creating.events / count,
    [`${label}CreateVolume per claim`]: (workCalls('provisioner', driver).length - callsBefore) / count,
    [`${label}RSS at its peak (MiB)`]: subject.cost().peak,
  })
}

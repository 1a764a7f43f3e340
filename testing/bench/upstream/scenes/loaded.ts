import {
  CSI_NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  PODS,
  type Resource,
  VOLUME_ATTACHMENTS,
} from '@csi-sidecars/kube-types'
import { pod } from '../../../e2e/harness/api/objects.ts'
import type { TestedApp } from '../../../e2e/harness/subject.ts'
import { pause } from '../../../e2e/harness/waiting.ts'
import { makeCopies, mustHold } from '../copies.ts'
import { APPS, type Side } from '../figures.ts'
import { type Bench, type BenchScene, type BenchServer, interleaved } from '../ground.ts'
import { attached, createBoundClaim, finalizerOf, growing, nodeOf, nodes } from '../objects.ts'
import type { Measured } from '../subject.ts'
import { giveWork, noteFirstCall, noteMemory, SETTLED_MS } from '../work.ts'

/** The processes that run attacher and resizer: one of ours, two of ours, or two Go sidecars. */
export type Layout = 'one' | 'two' | 'original'

export const DRIVER = 'loaded.example.com'
const FOREIGN = 'other.example.com'
const DIGESTED_MS = 10_000

/** Measures the start and the memory of leading sidecars in a cluster with 20,000 objects of each kind. */
export const loaded: BenchScene = {
  name: 'loaded',
  title: 'With 20,000 objects of each kind',
  conditions:
    '20,000 PersistentVolumes, VolumeAttachments (half of both foreign), PersistentVolumeClaims and Pods, 2,000 ' +
    'CSINodes. One attach and one resize wait when the sidecars start: the time to their call is the time until ' +
    `the caches are filled and work has begun. Memory ${SETTLED_MS / 1000} s later.`,
  async run(bench) {
    await using ground = await bench.ground()
    await populate(bench, ground)
    await interleaved(bench, async (side, round) => {
      await ground.namespace(`${side}-${round}`)
      const subjects: Measured[] = []
      for (const app of APPS) subjects.push(await startWithWork(bench, ground, { app, side, round }))
      await pause(SETTLED_MS)
      for (const subject of subjects) {
        noteMemory(bench.figures, subject)
        await subject.stop()
      }
    })
  },
}

/** Creates 20,000 objects of each kind, half of them for another driver. */
export async function populate(bench: Bench, ground: BenchServer, nodeCount = bench.sized(2000)): Promise<void> {
  const count = bench.sized(20_000)
  const from = performance.now()
  await nodes(ground, DRIVER)
  await makeCopies(ground, {
    originals: [{ resource: CSI_NODES, name: nodeOf(DRIVER) }],
    count: nodeCount - 1,
    rename: (text, number) => text.replaceAll(nodeOf(DRIVER), nodeOf(DRIVER, number + 1)),
  })
  for (const driver of [DRIVER, FOREIGN]) {
    const name = `first.${driver}`
    await makeSet(ground, driver, name)
    await makeCopies(ground, {
      originals: [
        ...[PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS].map((resource) => ({ resource, name })),
        ...[PERSISTENT_VOLUME_CLAIMS, PODS].map((resource) => ({ resource, name, namespace: 'default' })),
      ],
      count: count / 2 - 1,
      rename: (text, number) =>
        text.replaceAll(name, `set-${number}.${driver}`).replaceAll(nodeOf(DRIVER), nodeOf(DRIVER, number % nodeCount)),
    })
  }
  await mustHold(ground, CSI_NODES, { count: nodeCount })
  const resources: readonly Resource<unknown>[] = [
    PERSISTENT_VOLUMES,
    VOLUME_ATTACHMENTS,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
  ]
  for (const resource of resources) {
    await mustHold(ground, resource, { count })
    await ground.api.list(resource)
  }
  // The API server is busy after so many writes. The pause keeps this load out of the first measurement.
  await pause(DIGESTED_MS)
  bench.printLine(`  ${count} objects of each kind made in ${((performance.now() - from) / 1000).toFixed(0)} s`)
}

/** Creates a pod with a bound claim, its volume and an attached VolumeAttachment. */
async function makeSet(ground: BenchServer, driver: string, name: string): Promise<void> {
  const metadata = {
    finalizers: ['kubernetes.io/pv-protection', finalizerOf(driver)],
    annotations: { 'pv.kubernetes.io/provisioned-by': driver },
  }
  await growing(ground, driver)
  await createBoundClaim(ground, driver, { name, pv: { metadata } })
  await attached(ground, driver, { name, node: nodeOf(DRIVER) })
  await ground.api.create(PODS, pod('default', name, [{ name: 'data', persistentVolumeClaim: { claimName: name } }]))
}

/** Starts a sidecar when one object needs work, and measures the time until the sidecar's first call to the driver. */
async function startWithWork(
  { figures }: Pick<Bench, 'figures'>,
  ground: BenchServer,
  { app, side, round }: { app: TestedApp; side: Side; round: number },
): Promise<Measured> {
  const driver = await ground.driver(DRIVER)
  await giveWork(ground, { app, driver }, `${side}-${round}-${app}`)
  // A separate Lease, because an earlier sidecar releases its Lease late or not at all.
  const subject = await ground.start({ side, app, driver, leaseNamespace: `${side}-${round}` })
  await noteFirstCall(figures, subject)
  return subject
}

/** Starts the processes for attacher and resizer. The first process runs the attacher. */
export async function startLayout(
  ground: BenchServer,
  layout: Layout,
  { driver: name, leaseNamespace, args = [] }: { driver: string; leaseNamespace: string; args?: readonly string[] },
): Promise<readonly Measured[]> {
  const driver = await ground.driver(name)
  const common = { driver, leaseNamespace, args, side: layout === 'original' ? 'original' : 'ours' } as const
  if (layout === 'one') return [await ground.start({ ...common, app: 'attacher', together: 'both' })]
  const subjects: Measured[] = []
  for (const app of APPS) subjects.push(await ground.start({ ...common, app }))
  return subjects
}

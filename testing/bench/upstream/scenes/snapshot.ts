import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { VOLUME_SNAPSHOT_CLASSES, VOLUME_SNAPSHOT_CONTENTS, type VolumeSnapshotContent } from '@csi-sidecars/kube-types'
import { installSnapshotCrds } from '../../../e2e/harness/api/kubectl.ts'
import { kubeconfigOf } from '../../../e2e/harness/context.ts'
import type { Call } from '../../../e2e/harness/driver/driver.ts'
import { temporaryFolder } from '../../../e2e/harness/process/processes.ts'
import { eventually, pause } from '../../../e2e/harness/waiting.ts'
import { type Bench, type BenchScene, type BenchServer, interleaved } from '../ground.ts'
import { classOf, copiesOfFirst } from '../objects.ts'
import { isWork } from '../subject.ts'
import { noteFirstCall, noteMemory, SETTLED_MS } from '../work.ts'
import { DRIVER } from './loaded.ts'
import { type Creation, createAll, LIMITS } from './provision.ts'
import { WAVES, withoutLimits } from './storm.ts'

const READY = 15_000

const SNAPSHOTS: Creation<VolumeSnapshotContent> = {
  app: 'snapshotter',
  label: 'all snapshots are ready (s)',
  resource: VOLUME_SNAPSHOT_CONTENTS,
  ask: snapshotContent,
  completed: (content) => (isReady(content) ? content.metadata?.name : undefined),
  prepare: (ground, driver) => {
    driver.on('CreateSnapshot', snapshotReply)
    return snapshotClass(ground, driver.name)
  },
  leaves: [VOLUME_SNAPSHOT_CONTENTS, VOLUME_SNAPSHOT_CLASSES],
}

export const snapshotStorm: BenchScene = {
  name: 'snapshot-storm',
  title: '1,000 snapshots at once, with raised limits',
  conditions:
    `${LIMITS.join(' ')}; a driver whose snapshots are ready at once. Three waves in one process, each of 1,000 other ` +
    'VolumeSnapshotContents. The first wave compiles.',
  async run(bench) {
    await using ground = await snapshotGround(bench)
    const count = bench.sized(1000)
    await interleaved(bench, (side, round) =>
      createAll(SNAPSHOTS, { bench, ground }, { side, round, count, args: LIMITS, waves: WAVES }),
    )
  },
}

export const snapshotStormDefaults: BenchScene = {
  name: 'snapshot-storm-defaults',
  title: 'Snapshots at once, no limits given',
  conditions: 'As with attachments: 100 for both; 1,000 for ours alone.',
  async run(bench) {
    await using ground = await snapshotGround(bench)
    await withoutLimits(bench, (how) => createAll(SNAPSHOTS, { bench, ground }, how))
  },
}

export const snapshotLoaded: BenchScene = {
  name: 'snapshot-loaded',
  title: 'The snapshotter with 15,000 snapshots',
  conditions:
    `${READY.toLocaleString('en')} VolumeSnapshotContents that are ready, and one that waits. Memory ` +
    `${SETTLED_MS / 1000} s after its call. Other calls are for the ready ones; the waiting one takes three writes.`,
  async run(bench) {
    await using ground = await snapshotGround(bench)
    await snapshotClass(ground, DRIVER)
    await readyContents(ground, DRIVER, bench.sized(READY))
    await interleaved(bench, async (side, round) => {
      const leaseNamespace = `${side}-${round}`
      await ground.namespace(leaseNamespace)
      const driver = await ground.driver(DRIVER)
      driver.on('CreateSnapshot', snapshotReply)
      await snapshotContent(ground, DRIVER, `${leaseNamespace}-waits`)
      const subject = await ground.start({ side, app: 'snapshotter', driver, leaseNamespace })
      await noteFirstCall(bench.figures, subject, 600_000)
      await pause(SETTLED_MS)
      bench.figures.note('snapshotter', side, {
        'other calls to the driver': driver.callsOf('CreateSnapshot', 'ListSnapshots').length - 1,
        'writes of objects': (await subject.requests()).filter(isWork).length,
      })
      noteMemory(bench.figures, subject)
      await subject.stop()
    })
  },
}

/** Starts an API server with the CustomResourceDefinitions of snapshots. */
export async function snapshotGround(bench: Bench): Promise<BenchServer> {
  const ground = await bench.ground()
  const { url, ca, adminToken } = ground.cluster
  const kubeconfig = join(temporaryFolder('admin'), 'kubeconfig')
  writeFileSync(kubeconfig, JSON.stringify(kubeconfigOf(url, ca, { token: adminToken })))
  try {
    await installSnapshotCrds(kubeconfig)
    // The API server may refuse requests for a new kind for a moment, even after it reports the kind as established.
    await eventually('the kinds of snapshots', () => ground.api.list(VOLUME_SNAPSHOT_CONTENTS))
  } catch (error) {
    await ground[Symbol.asyncDispose]()
    throw error
  }
  return ground
}

export async function snapshotClass(ground: BenchServer, driver: string): Promise<void> {
  await ground.api.create(VOLUME_SNAPSHOT_CLASSES, {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshotClass',
    metadata: { name: classOf(driver) },
    driver,
    deletionPolicy: 'Delete',
  })
}

/** Creates the VolumeSnapshotContent for the volume `vol-<name>`, as the snapshot-controller does. */
export async function snapshotContent(ground: BenchServer, driver: string, name: string): Promise<void> {
  await ground.api.create(VOLUME_SNAPSHOT_CONTENTS, {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshotContent',
    metadata: { name, finalizers: ['snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection'] },
    spec: {
      driver,
      deletionPolicy: 'Delete',
      volumeSnapshotClassName: classOf(driver),
      source: { volumeHandle: `vol-${name}` },
      volumeSnapshotRef: { namespace: 'default', name, uid: `uid-of-${name}` },
    },
  })
}

export function snapshotReply({ request }: Call): { reply: object } {
  const source = String(request['source_volume_id'])
  const snapshot = {
    snapshotId: `snap-${String(request['name'])}`,
    sourceVolumeId: source,
    sizeBytes: 1024n,
    creationTime: { seconds: 1_700_000_000n, nanos: 0 },
    readyToUse: true,
    groupSnapshotId: '',
    accessibleTopology: [],
  }
  return { reply: { snapshot } }
}

/** Deletes a VolumeSnapshotContent as the snapshot-controller does. */
export async function removeSnapshot({ api }: BenchServer, name: string): Promise<void> {
  const annotations = { 'snapshot.storage.kubernetes.io/volumesnapshot-being-deleted': 'yes' }
  await api.merge(VOLUME_SNAPSHOT_CONTENTS, { name }, { metadata: { annotations } })
  await api.delete(VOLUME_SNAPSHOT_CONTENTS, { name })
}

export function isReady({ metadata, status }: VolumeSnapshotContent): boolean {
  return status?.readyToUse === true && !JSON.stringify(metadata).includes('being-created')
}

/** Creates VolumeSnapshotContents whose snapshots are ready. */
export async function readyContents(ground: BenchServer, driver: string, count: number): Promise<void> {
  const name = 'content-0'
  await snapshotContent(ground, driver, name)
  const status = { readyToUse: true, snapshotHandle: 'snap-0', creationTime: 1, restoreSize: 1 }
  await ground.api.merge(VOLUME_SNAPSHOT_CONTENTS, { name, subresource: 'status' }, { status })
  await copiesOfFirst(ground, { count, prefix: 'content' }, [{ resource: VOLUME_SNAPSHOT_CONTENTS, name }])
}

import { deepStrictEqual as equal } from 'node:assert'
import { createWriteStream } from 'node:fs'
import { join, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import {
  LEASES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type Resource,
  VOLUME_ATTACHMENTS,
  VOLUME_GROUP_SNAPSHOT_CONTENTS,
  VOLUME_GROUP_SNAPSHOTS,
  VOLUME_SNAPSHOT_CONTENTS,
  VOLUME_SNAPSHOTS,
} from '@csi-sidecars/kube-types'
import { FACTS } from '@csi-sidecars/sidecars/facts'
import { startControllerManager } from '../../harness/api/control-plane.ts'
import { attachment, claim } from '../../harness/api/objects.ts'
import { userWith } from '../../harness/api/user.ts'
import type { TestContext } from '../../harness/context.ts'
import type { FakeDriver } from '../../harness/driver/driver.ts'
import { start, stop } from '../../harness/process/processes.ts'
import { goProgram } from '../../harness/programs/binaries.ts'
import { leaseName } from '../../harness/subject.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { overlaps } from '../../model/overlaps.ts'
import { createClass as createStorageClass } from '../../rows/provisioner/scene.ts'
import {
  createClass,
  createGroupClass,
  createVolumeSnapshot,
  installCrds,
  SNAPSHOTS,
  snapshotSource,
} from '../../rows/snapshotter/scene.ts'

/** Tests from creation to deletion, with the real snapshot-controller and kube-controller-manager, and our sidecars. */

const ROOT = resolve(import.meta.dirname, '../../../..')
const CONTROLLERS = [
  'persistentvolume-binder-controller',
  'persistentvolume-protection-controller',
  'persistentvolumeclaim-protection-controller',
]
const OPTIONS = { alone: 'cluster', only: 'ours', target: 'real', within: 240_000 } as const
const test = testsOf('snapshotter', 'whole life', OPTIONS)

const ABILITIES = ['CREATE_DELETE_VOLUME', 'CLONE_VOLUME', 'PUBLISH_UNPUBLISH_VOLUME', 'EXPAND_VOLUME'] as const
const EMULATED = [
  'ControllerPublishVolume',
  'ControllerUnpublishVolume',
  'ControllerExpandVolume',
  'CreateVolume',
  'DeleteVolume',
  'CreateSnapshot',
  'ListSnapshots',
  'DeleteSnapshot',
  'CreateVolumeGroupSnapshot',
  'DeleteVolumeGroupSnapshot',
]

/** Starts a driver that keeps volumes and snapshots. */
async function storingDriver(t: TestContext): Promise<FakeDriver> {
  const driver = await t.driver({ controller: [...SNAPSHOTS, ...ABILITIES] })
  for (const method of EMULATED) driver.on(method, { emulated: true })
  return driver
}

/** Starts the cluster's controllers and our sidecars. */
async function living(
  t: TestContext,
  ourSidecars: readonly ('provisioner' | 'snapshotter')[] = ['provisioner', 'snapshotter'],
): Promise<AsyncDisposable & { readonly driver: FakeDriver }> {
  await installCrds(t)
  const kubeconfig = t.kubeconfig(t.cluster.url, t.cluster.adminToken)
  const args = ['--pvclaimbinder-sync-period=2s']
  const manager = await startControllerManager({ kubeconfig, folder: t.folder, controllers: CONTROLLERS, args })
  const controller = start(
    goProgram(ROOT, 'snapshot-controller'),
    [`--kubeconfig=${kubeconfig}`, '--feature-gates=CSIVolumeGroupSnapshot=true', '--retry-interval-start=200ms'],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  controller.stderr?.pipe(createWriteStream(join(t.folder, 'snapshot-controller.log')))
  const driver = await storingDriver(t)
  await createStorageClass(t, { allowVolumeExpansion: true })
  await createClass(t)
  await createGroupClass(t)
  for (const app of ourSidecars) await t.sidecar({ driver, app })
  return {
    driver,
    [Symbol.asyncDispose]: async () => {
      await Promise.all([stop(manager), stop(controller)])
    },
  }
}

async function createClaim(t: TestContext, suffix: string, restored?: string): Promise<void> {
  const fields = { metadata: { labels: { group: t.name('group') } }, storageClassName: t.name('class') }
  const dataSource = restored === undefined ? {} : { dataSource: snapshotSource(t, restored) }
  await t.create(PERSISTENT_VOLUME_CLAIMS, claim(t.namespace, t.name(suffix), { ...fields, ...dataSource }))
}

function untilBound(t: TestContext, suffix: string): Promise<unknown> {
  const ref = { namespace: t.namespace, name: t.name(suffix) }
  return t.api.until(PERSISTENT_VOLUME_CLAIMS, { ...ref, within: 60_000 }, ({ status }) => status?.phase === 'Bound')
}

async function createSnapshot(t: TestContext, suffix: string, of: string): Promise<void> {
  await createVolumeSnapshot(t, suffix, { source: { persistentVolumeClaimName: t.name(of) } })
}

function snapshotReady(t: TestContext, suffix: string): Promise<unknown> {
  const ref = { namespace: t.namespace, name: t.name(suffix) }
  return t.api.until(VOLUME_SNAPSHOTS, { ...ref, within: 60_000 }, ({ status }) => status?.readyToUse === true)
}

async function deleteAndWait(t: TestContext, resource: Resource<unknown>, suffix: string): Promise<void> {
  const ref = { namespace: t.namespace, name: t.name(suffix) }
  await t.api.delete(resource, ref)
  await t.api.untilGone(resource, ref, { within: 60_000 })
}

const NOTHING = { volumes: [], snapshots: [], groups: [] }

/** Asserts that no volume and no snapshot is left, neither in the driver nor as an object. */
async function nothingLeft(t: TestContext, driver: FakeDriver): Promise<void> {
  const objects = async (): Promise<number> => {
    const isOurs = (each: unknown): boolean => JSON.stringify(each).includes(t.driverName)
    const lists: Resource<unknown>[] = [PERSISTENT_VOLUMES, VOLUME_SNAPSHOT_CONTENTS, VOLUME_GROUP_SNAPSHOT_CONTENTS]
    const counts = lists.map(async (each) => (await t.api.list(each)).filter(isOurs).length)
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
  }
  await eventually(
    'an empty driver',
    async () => isDeepStrictEqual(await driver.stored(), NOTHING) && (await objects()) === 0,
    { within: 60_000 },
  ).catch(async (error: unknown) => {
    equal({ ...(await driver.stored()), objects: await objects() }, { ...NOTHING, objects: 0 })
    throw error
  })
}

const SIDECAR_PARTS = {
  claim: PERSISTENT_VOLUME_CLAIMS,
  snapshot: VOLUME_SNAPSHOTS,
  restored: PERSISTENT_VOLUME_CLAIMS,
} as const
type Part = keyof typeof SIDECAR_PARTS
const ORDERS: readonly (readonly Part[])[] = [
  ['claim', 'snapshot', 'restored'],
  ['claim', 'restored', 'snapshot'],
  ['snapshot', 'claim', 'restored'],
  ['snapshot', 'restored', 'claim'],
  ['restored', 'claim', 'snapshot'],
  ['restored', 'snapshot', 'claim'],
]

test('nothing is left after a volume, its snapshot and the restored volume are deleted, in any order', async (t) => {
  await using life = await living(t)
  const of = (order: readonly Part[], part: Part): string => `${part}-${order.map((each) => each[0]).join('')}`
  await Promise.all(
    ORDERS.map(async (order) => {
      const [claim, snapshot, restored] = [of(order, 'claim'), of(order, 'snapshot'), of(order, 'restored')]
      await createClaim(t, claim)
      await untilBound(t, claim)
      await createSnapshot(t, snapshot, claim)
      await snapshotReady(t, snapshot)
      await createClaim(t, restored, snapshot)
      await untilBound(t, restored)
    }),
  )
  const { volumes, snapshots } = await life.driver.stored()
  equal([volumes.length, snapshots.length], [2 * ORDERS.length, ORDERS.length])
  const restores = life.driver.callsOf('CreateVolume').filter(({ request }) => request['volume_content_source'])
  equal(new Set(restores.map(({ request }) => sourceText(request['volume_content_source']))), new Set(snapshots))
  await Promise.all(
    ORDERS.map(async (order) => {
      for (const part of order) await deleteAndWait(t, SIDECAR_PARTS[part], of(order, part))
    }),
  )
  await nothingLeft(t, life.driver)
})

function sourceText(source: unknown): string {
  return String(Reflect.get(Object(Reflect.get(Object(source), 'snapshot')), 'snapshot_id'))
}

test('nothing is left after a VolumeSnapshot is deleted while it is created or while it is restored', async (t) => {
  await using life = await living(t)
  await createClaim(t, 'claim')
  await untilBound(t, 'claim')
  life.driver.on('CreateSnapshot', { emulated: true, after: 2_000 })
  await createSnapshot(t, 'early', 'claim')
  await eventually('the creation', () => life.driver.callsOf('CreateSnapshot').length === 1)
  await deleteAndWait(t, VOLUME_SNAPSHOTS, 'early')
  await createSnapshot(t, 'late', 'claim')
  await snapshotReady(t, 'late')
  await createClaim(t, 'restored', 'late')
  await t.api.delete(VOLUME_SNAPSHOTS, { namespace: t.namespace, name: t.name('late') })
  // A deleted snapshot is not restored, but the claim of the restore keeps the object. So the test deletes the claim.
  await t.api.delete(PERSISTENT_VOLUME_CLAIMS, { namespace: t.namespace, name: t.name('restored') })
  await t.api.untilGone(VOLUME_SNAPSHOTS, { namespace: t.namespace, name: t.name('late') })
  await deleteAndWait(t, PERSISTENT_VOLUME_CLAIMS, 'claim')
  await nothingLeft(t, life.driver)
})

for (const first of ['group', 'claims'] as const) {
  test(`nothing is left after the deletion of a group snapshot and its claims, the ${first} first`, async (t) => {
    await using life = await living(t)
    for (const label of ['a', 'b']) {
      await createClaim(t, label)
      await untilBound(t, label)
    }
    await t.create(VOLUME_GROUP_SNAPSHOTS, {
      apiVersion: 'groupsnapshot.storage.k8s.io/v1',
      kind: 'VolumeGroupSnapshot',
      metadata: { namespace: t.namespace, name: t.name('group') },
      spec: {
        source: { selector: { matchLabels: { group: t.name('group') } } },
        volumeGroupSnapshotClassName: t.name('class'),
      },
    })
    const ref = { namespace: t.namespace, name: t.name('group'), within: 60_000 }
    await t.api.until(VOLUME_GROUP_SNAPSHOTS, ref, ({ status }) => status?.readyToUse === true)
    const members = await eventually('two ready members', async () => {
      const snapshots = await t.api.list(VOLUME_SNAPSHOTS, t.namespace)
      const ready = snapshots.filter(
        ({ status }) => status?.volumeGroupSnapshotName === t.name('group') && status.readyToUse,
      )
      return ready.length === 2 && ready
    })
    const { groups, snapshots } = await life.driver.stored()
    equal([groups.length, snapshots.length, members.length], [1, 2, 2])
    const group = (): Promise<void> => deleteAndWait(t, VOLUME_GROUP_SNAPSHOTS, 'group')
    if (first === 'group') await group()
    for (const label of ['a', 'b']) await deleteAndWait(t, PERSISTENT_VOLUME_CLAIMS, label)
    if (first === 'claims') await group()
    await nothingLeft(t, life.driver)
  })
}

const APPS = ['attacher', 'resizer', 'provisioner', 'snapshotter'] as const
const ELECTED = [
  '--leader-election',
  '--leader-election-namespace=default',
  '--leader-election-lease-duration=12s',
  '--leader-election-renew-deadline=10s',
  '--leader-election-retry-period=2s',
]

test('under load, rollouts between four Go sidecars and one process leave no object and overlap no calls', async (t) => {
  await using life = await living(t, [])
  const { driver } = life
  const node = await t.createNode('node')
  const originals = (replica: string) =>
    Promise.all(
      APPS.map((app) => t.sidecar({ app, driver, binary: t.original(app), hostname: t.name(replica), args: ELECTED })),
    )
  const end = async (sidecars: readonly { endBy(signal: NodeJS.Signals): Promise<unknown> }[]): Promise<void> => {
    await Promise.all(sidecars.map((each) => each.endBy('SIGTERM')))
  }
  let isLoaded = true
  const lane = async (nth: number): Promise<void> => {
    for (let life = 0; isLoaded; life += 1) await oneLife(t, `l${nth}-${life}`, node)
  }
  const first = await originals('first')
  const loading = Promise.allSettled([1, 2, 3].map(lane))
  await eventually('the first snapshots', () => driver.callsOf('DeleteSnapshot').length > 1, { within: 60_000 })
  const rules = APPS.flatMap((app) => [...FACTS[app].rules])
  const one = await t.sidecar({
    app: 'both',
    driver,
    user: await userWith(t, rules),
    hostname: t.name('one'),
    args: [`--controllers=${APPS.join()}`, ...ELECTED],
  })
  await one.line('Attempting to acquire leader lease')
  const beforeOne = driver.calls.length
  await end(first)
  await eventually('work of the one process', () => worked(driver, beforeOne), { within: 60_000 })
  const second = await originals('second')
  const beforeSecond = driver.calls.length
  await end([one])
  await eventually('work of the Go sidecars', () => worked(driver, beforeSecond), { within: 60_000 })
  isLoaded = false
  for (const { status } of await loading) equal(status, 'fulfilled')
  await nothingLeft(t, driver)
  equal(overlaps(driver.calls), [])
  await end(second)
  for (const app of APPS) await t.api.delete(LEASES, { namespace: 'default', name: leaseName(app, t.driverName) })
})

/** Reports whether each kind of call has succeeded after the first `since` calls. */
function worked({ calls }: FakeDriver, since: number): boolean {
  const methods = new Set(calls.slice(since).flatMap(({ method, code }) => (code === 0 ? [method] : [])))
  return [
    'ControllerPublishVolume',
    'ControllerExpandVolume',
    'CreateVolume',
    'CreateSnapshot',
    'DeleteSnapshot',
  ].every((method) => methods.has(method))
}

/** Creates, attaches, expands, snapshots and deletes one volume. */
async function oneLife(t: TestContext, suffix: string, node: string): Promise<void> {
  const ref = { namespace: t.namespace, name: t.name(suffix) }
  await createClaim(t, suffix)
  await untilBound(t, suffix)
  const pv = (await t.api.get(PERSISTENT_VOLUME_CLAIMS, ref)).spec?.volumeName ?? ''
  const va = { name: t.name(`${suffix}-va`), within: 60_000 }
  await t.create(VOLUME_ATTACHMENTS, attachment(va.name, t.driverName, { pv, node }))
  await t.api.until(VOLUME_ATTACHMENTS, va, ({ status }) => status?.attached === true)
  await t.api.merge(PERSISTENT_VOLUME_CLAIMS, ref, { spec: { resources: { requests: { storage: '2Gi' } } } })
  await createSnapshot(t, `${suffix}-snap`, suffix)
  await snapshotReady(t, `${suffix}-snap`)
  await t.api.until(
    PERSISTENT_VOLUMES,
    { name: pv, within: 60_000 },
    ({ spec }) => spec?.capacity?.['storage'] === '2Gi',
  )
  await deleteAndWait(t, VOLUME_SNAPSHOTS, `${suffix}-snap`)
  await deleteAndWait(t, VOLUME_ATTACHMENTS, `${suffix}-va`)
  await deleteAndWait(t, PERSISTENT_VOLUME_CLAIMS, suffix)
}

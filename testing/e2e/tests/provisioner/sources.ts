import { deepStrictEqual as equal, ok } from 'node:assert'
import {
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolumeClaim,
  VOLUME_SNAPSHOTS,
} from '@csi-sidecars/kube-types'
import { FACTS } from '@csi-sidecars/sidecars/facts'
import { refusal } from '../../harness/api/gate.ts'
import { userWith } from '../../harness/api/user.ts'
import type { TestContext } from '../../harness/context.ts'
import { type Call, createdVolume, type FakeDriver } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import {
  afterLaterWork,
  type ClaimParts,
  calls,
  claimEvent,
  claimRef,
  createClaim,
  createClass,
  GI,
  type ProvisionerScene,
  type ProvisionerSetup,
  provision,
  provisionedVolume,
  scene,
  setPhase,
} from '../../rows/provisioner/scene.ts'
import {
  createGiven,
  createVolumeSnapshot,
  installCrds,
  setStatus,
  snapshotSource,
} from '../../rows/snapshotter/scene.ts'

const test = testsOf('provisioner', 'sources')
type Spec = NonNullable<PersistentVolumeClaim['spec']>

const GROUP = 'snapshot.storage.k8s.io'
const ALLOW = 'snapshot.storage.kubernetes.io/allow-volume-mode-change'
const SNAPSHOT_FINALIZER = 'provisioner.storage.kubernetes.io/volumesnapshot-as-source-protection'
const CLONE_FINALIZER = 'provisioner.storage.kubernetes.io/cloning-protection'
/** A finalizer of the tests that keeps a deleted object. */
const HOLDING_FINALIZER = 'example.com/held'
const SECOND = ['--retry-interval-start=200ms', '--retry-interval-max=200ms']

/** Starts a provisioner whose driver supports snapshots and clones, and answers CreateVolume with a content source. */
async function ready(t: TestContext, setup: ProvisionerSetup = {}): Promise<ProvisionerScene> {
  await installCrds(t)
  const prepare = (driver: FakeDriver): void => driver.on('CreateVolume', withSource)
  return await scene(t, { controller: ['CREATE_DELETE_SNAPSHOT', 'CLONE_VOLUME'], prepare, ...setup })
}

const withSource = ({ request }: Pick<Call, 'request'>) => ({
  reply: { volume: createdVolume(request, { contentSource: { type: undefined } }) },
})

interface SnapshotParts {
  readonly suffix?: string
  readonly finalizers?: readonly string[]
  /** The status of the snapshot. Undefined: the snapshot is not bound. */
  readonly status?: object | undefined
  /** The VolumeSnapshotContent. Null: it does not exist. */
  readonly content?: { readonly annotations?: object; readonly spec?: object; readonly status?: object } | null
}

/** Creates a ready snapshot of 1 GiB, and returns its name. `parts` override the default fields. */
async function createSnapshot(t: TestContext, fields: SnapshotParts = {}): Promise<string> {
  const { suffix = 'snap', finalizers = [], content = {} } = fields
  const name = t.name(suffix)
  const usual = { boundVolumeSnapshotContentName: name, readyToUse: true, restoreSize: '1Gi' }
  const givenStatus = 'status' in fields ? fields.status : {}
  const status = givenStatus && { ...usual, ...givenStatus }
  const source = { volumeSnapshotContentName: name }
  const made = await createVolumeSnapshot(t, suffix, { source, metadata: { finalizers }, status })
  if (content === null) return name
  const volumeSnapshotRef = { namespace: t.namespace, name, uid: made.metadata?.uid }
  const metadata = { annotations: content.annotations, finalizers: [] }
  await createGiven(t, {
    suffix,
    metadata,
    spec: { source: { snapshotHandle: 'handle' }, volumeSnapshotRef, ...content.spec },
  })
  await setStatus(t, name, { readyToUse: true, snapshotHandle: 'handle', ...content.status })
  return name
}

const restoring = (t: TestContext, suffix = 'snap'): Partial<Spec> => ({ dataSource: snapshotSource(t, suffix) })

async function finalizersOf(t: TestContext, suffix = 'snap'): Promise<readonly string[]> {
  const snapshot = await t.api.find(VOLUME_SNAPSHOTS, { namespace: t.namespace, name: t.name(suffix) })
  return snapshot?.metadata?.finalizers ?? []
}

const unprotected = (t: TestContext, suffix?: string): Promise<true> =>
  eventually('no finalizer', async () => !(await finalizersOf(t, suffix)).includes(SNAPSHOT_FINALIZER))

/** Returns the text of an event about a source that cannot be used. */
const unusableSource = (kind: 'VolumeSnapshot' | 'PersistentVolumeClaim', name: string, why: string): string =>
  `error getting handle for DataSource Type ${kind} by Name ${name}: ${why}`

/** Asserts that the claim has an event with exactly this message, and that CreateVolume was not called. */
async function refused(t: TestContext, message: string, suffix = ''): Promise<void> {
  const event = await claimEvent(t, message, suffix)
  equal([event.type, event.reason, event.message], ['Warning', 'ProvisioningFailed', message])
  equal(t.drivers[0]?.callsOf('CreateVolume').length, 0)
}

test('a restore sends the snapshot handle in CreateVolume, and the VolumeSnapshot has a finalizer during the call', async (t) => {
  let during: Promise<readonly string[]> | undefined
  const { driver } = await ready(t)
  driver.on('CreateVolume', (call) => {
    during ??= finalizersOf(t)
    return { ...withSource(call), after: during.then(() => undefined) }
  })
  await createSnapshot(t)
  await provision(t, { spec: restoring(t) })
  equal(driver.fieldsOf('CreateVolume', 'volume_content_source'), [{ snapshot: { snapshot_id: 'handle' } }])
  ok((await during)?.includes(SNAPSHOT_FINALIZER))
  await unprotected(t)
})

const OTHER_MODE = `requested volume default/CLAIM modifies the mode of the source volume but does not have permission to do so. `
const BLOCK = { sourceVolumeMode: 'Block' }

/** Snapshots that cannot be restored, and the reason in the event. SNAP and CLAIM stand for names. */
const REFUSED_SNAPSHOTS: readonly (readonly [why: string, fields: SnapshotParts, claim?: Partial<Spec>])[] = [
  ['snapshot SNAP not bound', { status: undefined }],
  ['error getting snapshotcontent SNAP for snapshot SNAP', { content: null }],
  [
    'snapshotcontent SNAP for snapshot SNAP is bound to a different snapshot',
    { content: { spec: { volumeSnapshotRef: { namespace: 'default', name: 'other', uid: 'x' } } } },
  ],
  [
    'snapshotcontent SNAP for snapshot SNAP is not handled by CSI driver of StorageClass CLASS',
    { content: { spec: { driver: 'other.example.com' } } },
  ],
  ['snapshot SNAP is not Ready', { status: { readyToUse: false } }],
  ['snapshot handle SNAP is not available', { content: { status: { snapshotHandle: null } } }],
  [
    `requested volume size ${GI} is less than the size ${2 * GI} for the source snapshot SNAP`,
    { status: { restoreSize: '2Gi' } },
  ],
  [`${OTHER_MODE}${ALLOW} annotation is not present on snapshotcontent SNAP`, { content: { spec: BLOCK } }],
  [
    `${OTHER_MODE}${ALLOW} is set to false on snapshotcontent SNAP`,
    { content: { spec: BLOCK, annotations: { [ALLOW]: 'F' } } },
  ],
  [
    `${OTHER_MODE}failed to convert ${ALLOW} annotation value to boolean with error: strconv.ParseBool: parsing "yes": invalid syntax`,
    { content: { spec: BLOCK, annotations: { [ALLOW]: 'yes' } } },
  ],
]

test('an event of the claim names the reason why its snapshot cannot be restored', async (t) => {
  await ready(t)
  for (const [index, [why, fields, spec]] of REFUSED_SNAPSHOTS.entries()) {
    const suffix = `snap-${index}`
    const snapshot = await createSnapshot(t, { ...fields, suffix })
    await createClaim(t, { suffix: `-${index}`, spec: { ...restoring(t, suffix), ...spec } })
    const names = { SNAP: snapshot, CLAIM: claimRef(t, `-${index}`).name, CLASS: t.name('class') }
    const text = why.replaceAll(/SNAP|CLAIM|CLASS/g, (name) => names[name as keyof typeof names])
    await refused(t, unusableSource('VolumeSnapshot', snapshot, text), `-${index}`)
    equal(await finalizersOf(t, suffix), [])
  }
})

test('a missing VolumeSnapshot and a wrong API group in a data source cause events', async (t) => {
  await ready(t)
  const name = t.name('none')
  await createClaim(t, { spec: restoring(t, 'none') })
  const missing = `error getting snapshot ${name} from api server: volumesnapshots.${GROUP} "${name}" not found`
  await refused(t, unusableSource('VolumeSnapshot', name, missing))
  const apiGroup = 'other.example.com'
  await createClaim(t, { suffix: '-group', spec: { dataSource: { apiGroup, kind: 'VolumeSnapshot', name } } })
  // An API server may drop a `dataSource` of an unknown API group. Then there is nothing to test.
  const { spec } = await t.api.get(PERSISTENT_VOLUME_CLAIMS, claimRef(t, '-group'))
  if (spec?.dataSource == null) return
  const text = `the PVC source does not belong to the right APIGroup. Expected ${GROUP}, Got ${apiGroup}`
  await refused(t, text, '-group')
})

test('a claim can have another volume mode than its snapshot if the VolumeSnapshotContent allows it', async (t) => {
  await ready(t)
  await createSnapshot(t, { content: { spec: BLOCK, annotations: { [ALLOW]: 'T' } } })
  await provision(t, { spec: restoring(t) })
})

test('--prevent-volume-mode-conversion=false lets every claim have another volume mode than its snapshot', async (t) => {
  await ready(t, { args: ['--prevent-volume-mode-conversion=false'] })
  await createSnapshot(t, { content: { spec: BLOCK } })
  await provision(t, { spec: restoring(t) })
})

// Alone, because the search of another test would remove the finalizer before the claim exists.
test('a deleted VolumeSnapshot is restored only with our finalizer', { alone: 'cluster' }, async (t) => {
  await ready(t, { args: ['--snapshot-orphan-sweep-interval=0'] })
  for (const [label, finalizers] of Object.entries({
    new: [HOLDING_FINALIZER],
    begun: [HOLDING_FINALIZER, SNAPSHOT_FINALIZER],
  })) {
    const name = await createSnapshot(t, { suffix: label, finalizers })
    await t.api.delete(VOLUME_SNAPSHOTS, { namespace: t.namespace, name })
  }
  await createClaim(t, { suffix: '-new', spec: restoring(t, 'new') })
  const name = t.name('new')
  await refused(t, unusableSource('VolumeSnapshot', name, `snapshot ${name} is being deleted`), '-new')
  await provision(t, { suffix: '-begun', spec: restoring(t, 'begun') })
  await unprotected(t, 'begun')
})

test('a provisioner without the permission to update snapshots restores them without a finalizer', async (t) => {
  const rules = FACTS.provisioner.rules.map((rule) =>
    rule.resources.includes('volumesnapshots') ? { ...rule, verbs: ['get'] } : rule,
  )
  await ready(t, { user: await userWith(t, rules) })
  await createSnapshot(t)
  await provision(t, { spec: restoring(t) })
})

test('a failed write of the finalizer to a VolumeSnapshot causes an event, and delays CreateVolume', async (t) => {
  const { driver, sidecar } = await ready(t, { args: SECOND })
  await createSnapshot(t)
  const failing = sidecar.gate.inject('PUT volumesnapshots', refusal(500, 'InternalError', 'broken'))
  const uid = await createClaim(t, { spec: restoring(t) })
  await claimEvent(t, 'broken')
  equal(driver.callsOf('CreateVolume').length, 0)
  failing.end()
  await provisionedVolume(t, uid)
})

test('a snapshot keeps the finalizer of the provisioner until the last restore ends', { only: 'ours' }, async (t) => {
  const { promise: first, resolve: finish } = Promise.withResolvers<void>()
  const { driver } = await ready(t)
  driver.on('CreateVolume', (call, nth) => ({ ...withSource(call), ...(nth === 0 && { after: first }) }))
  await createSnapshot(t)
  const slow = await createClaim(t, { suffix: '-slow', spec: restoring(t) })
  await calls(driver, 'CreateVolume')
  await provision(t, { suffix: '-fast', spec: restoring(t) })
  await afterLaterWork(t, driver)
  ok((await finalizersOf(t)).includes(SNAPSHOT_FINALIZER))
  finish()
  await provisionedVolume(t, slow)
  await unprotected(t)
})

test('a periodic search removes the finalizer of the provisioner from snapshots that no pending claim needs', async (t) => {
  await installCrds(t)
  const finalizers = [HOLDING_FINALIZER, SNAPSHOT_FINALIZER]
  // The claim of another provisioner is restored from `needed`, so this snapshot must keep its finalizer. The claim is
  // created first, because a provisioner of another test may search at any time.
  const annotations = { 'volume.kubernetes.io/storage-provisioner': 'other.example.com' }
  await createClaim(t, { annotations, spec: restoring(t, 'needed') })
  await createSnapshot(t, { suffix: 'forgotten', finalizers })
  await createSnapshot(t, { suffix: 'needed', finalizers })
  await ready(t, { args: ['--snapshot-orphan-sweep-interval=500ms'] })
  await unprotected(t, 'forgotten')
  equal(await finalizersOf(t, 'forgotten'), [HOLDING_FINALIZER])
  // A later search has also looked at `needed`.
  await createSnapshot(t, { suffix: 'forgotten-later', finalizers })
  await unprotected(t, 'forgotten-later')
  equal(await finalizersOf(t, 'needed'), finalizers)
  await t.strip(PERSISTENT_VOLUME_CLAIMS, claimRef(t))
  await unprotected(t, 'needed')
})

test('a claim with an unknown kind of data source causes an event and no CreateVolume call', async (t) => {
  const { driver } = await ready(t)
  const dataSourceRef = { apiGroup: 'populator.example.com', kind: 'Data', name: 'x' }
  await createClaim(t, { spec: { dataSourceRef } })
  const event = await claimEvent(t, 'Assuming an external populator will provision the volume')
  equal([event.type, event.reason, event.source?.component], ['Normal', 'Provisioning', 'external-provisioner'])
  const before = await afterLaterWork(t, driver)
  equal(
    before.filter(({ method }) => method === 'CreateVolume'),
    [],
  )
})

test('an event of the claim reports a driver that supports no snapshots or no clones', async (t) => {
  await ready(t, { controller: [] })
  const text = (capability: string): string => `CSI driver does not support ${capability} capability is not reported`
  await createClaim(t, { spec: restoring(t) })
  await refused(t, text('snapshot restore: controller CREATE_DELETE_SNAPSHOT'))
  await createClaim(t, { suffix: '-clone', spec: cloning(t) })
  await refused(t, text('clone operations: controller CLONE_VOLUME'), '-clone')
})

const cloning = (t: TestContext, suffix = '-source'): Partial<Spec> => ({
  dataSource: { kind: 'PersistentVolumeClaim', name: claimRef(t, suffix).name },
})

interface Original extends ClaimParts {
  readonly pv?: object
  readonly csi?: object | null
  readonly claimPhase?: string
  readonly phase?: string
}

/** Creates a bound claim with a volume of the driver. */
async function createOriginal(
  t: TestContext,
  { pv, csi, claimPhase = 'Bound', phase = 'Bound', ...fields }: Original = {},
) {
  const { suffix = '-source', spec } = fields
  const name = t.name(`pv${suffix}`)
  const uid = await createClaim(t, { ...fields, suffix, spec: { volumeName: name, ...spec } })
  const ref = claimRef(t, suffix)
  const owner = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', ...ref, uid }
  const source = csi === null ? { csi: null, hostPath: { path: '/x' } } : { csi: { volumeHandle: 'original', ...csi } }
  await t.createVolume(`pv${suffix}`, { claimRef: owner, storageClassName: t.name('class'), ...source, ...pv })
  await setPhase(t, name, phase)
  const status = { phase: claimPhase, accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' } }
  await t.api.merge(PERSISTENT_VOLUME_CLAIMS, { ...ref, subresource: 'status' }, { status })
}

test('a clone sends the handle of its source volume, and the source claim has a finalizer', async (t) => {
  const { driver } = await ready(t)
  await createClass(t, {}, 'other')
  await createOriginal(t)
  await provision(t, { spec: { ...cloning(t), storageClassName: t.name('other') } })
  const [call] = driver.callsOf('CreateVolume')
  equal(call?.request['volume_content_source'], { volume: { volume_id: 'original' } })
  await afterLaterWork(t, driver)
  const source = await t.api.get(PERSISTENT_VOLUME_CLAIMS, claimRef(t, '-source'))
  ok(source.metadata?.finalizers?.includes(CLONE_FINALIZER))
})

const UNUSABLE_SOURCE = 'claim in dataSource not bound or invalid'
const MODES = 'the source PVC and destination PVCs must have the same volume mode for cloning.  '
const OTHER_CLAIM = { kind: 'PersistentVolumeClaim', namespace: 'default', name: 'other', uid: 'x' }

const REFUSED_CLONES: readonly (readonly [why: string, original: Original, claim?: Partial<Spec>])[] = [
  ['the PVC DataSource NAME must have a status of Bound.  Got {Pending', { claimPhase: 'Pending' }],
  ['the source PVC (NAME) storageclass cannot be empty', { spec: { storageClassName: undefined } }],
  [
    `error, new PVC request must be greater than or equal in size to the specified PVC data source, requested ${GI} but source is ${2 * GI}`,
    { spec: { resources: { requests: { storage: '2Gi' } } } },
  ],
  [UNUSABLE_SOURCE, { spec: { volumeName: 'missing' } }],
  [UNUSABLE_SOURCE, { csi: null }],
  [UNUSABLE_SOURCE, { csi: { driver: 'other.example.com' } }],
  [UNUSABLE_SOURCE, { pv: { claimRef: OTHER_CLAIM } }],
  [UNUSABLE_SOURCE, { phase: 'Released' }],
  [`${MODES}Source is Block, but new PVC requested Filesystem`, { pv: { volumeMode: 'Block' } }],
  [`${MODES}Source is Filesystem, but new PVC requested Block`, {}, { volumeMode: 'Block' }],
]

test('an event of the claim names the reason why its source cannot be cloned', async (t) => {
  const { driver } = await ready(t)
  for (const [index, [why, original, spec]] of REFUSED_CLONES.entries()) {
    const suffix = `-source-${index}`
    await createOriginal(t, { ...original, suffix })
    await createClaim(t, { suffix: `-${index}`, spec: { ...cloning(t, suffix), ...spec } })
    const { name } = claimRef(t, suffix)
    const text = unusableSource('PersistentVolumeClaim', name, why.replaceAll('NAME', name))
    const { message } = await claimEvent(t, text, `-${index}`)
    ok(why.endsWith('{Pending') ? message?.startsWith(text) : message === text)
    equal(driver.callsOf('CreateVolume').length, 0)
  }
})

test('a missing source claim and a source claim in deletion cause events', async (t) => {
  await ready(t)
  await createClaim(t, { spec: cloning(t) })
  const { name } = claimRef(t, '-source')
  const missing = `error getting PVC ${name} (namespace "${t.namespace}") from api server: persistentvolumeclaim "${name}" not found`
  await refused(t, unusableSource('PersistentVolumeClaim', name, missing))
  await createOriginal(t, { suffix: '-gone' })
  const gone = claimRef(t, '-gone')
  await t.api.merge(PERSISTENT_VOLUME_CLAIMS, gone, { metadata: { finalizers: [HOLDING_FINALIZER] } })
  await t.api.delete(PERSISTENT_VOLUME_CLAIMS, gone)
  await createClaim(t, { suffix: '-late', spec: cloning(t, '-gone') })
  const why = `the PVC DataSource ${gone.name} is currently being deleted`
  await refused(t, unusableSource('PersistentVolumeClaim', gone.name, why), '-late')
})

test('a deleted source claim loses the finalizer of the provisioner once no clone is pending', async (t) => {
  const { driver } = await ready(t, { args: SECOND })
  driver.on('CreateVolume', { code: 4, message: 'slow' })
  await createOriginal(t)
  await createClaim(t, { suffix: '-clone', spec: cloning(t) })
  const ref = claimRef(t, '-source')
  const isProtected = (claim: PersistentVolumeClaim): boolean =>
    claim.metadata?.finalizers?.includes(CLONE_FINALIZER) === true
  await t.api.until(PERSISTENT_VOLUME_CLAIMS, ref, isProtected)
  await t.api.merge(PERSISTENT_VOLUME_CLAIMS, ref, { metadata: { finalizers: [HOLDING_FINALIZER, CLONE_FINALIZER] } })
  await t.api.delete(PERSISTENT_VOLUME_CLAIMS, ref)
  await afterLaterWork(t, driver)
  ok(isProtected(await t.api.get(PERSISTENT_VOLUME_CLAIMS, ref)))
  await t.strip(PERSISTENT_VOLUME_CLAIMS, claimRef(t, '-clone'))
  await t.api.until(PERSISTENT_VOLUME_CLAIMS, ref, (claim) => !isProtected(claim))
  ok((await t.api.find(PERSISTENT_VOLUMES, { name: t.name('pv-source') })) !== undefined)
})

test('a new volume without the requested content source is deleted', async (t) => {
  const { driver } = await ready(t)
  driver.on('CreateVolume', (call, nth) => (nth === 0 ? { reply: {} } : withSource(call)))
  await createSnapshot(t)
  await provision(t, { spec: restoring(t) })
  await claimEvent(t, 'volume content source missing')
  equal(driver.callsOf('DeleteVolume').length, 1)
})

test('a data source in another namespace is refused without the feature gate CrossNamespaceVolumeDataSource', async (t) => {
  await ready(t)
  const dataSourceRef = { apiGroup: GROUP, kind: 'VolumeSnapshot', name: 'x', namespace: 'other' }
  await createClaim(t, { spec: { dataSourceRef } })
  const { spec } = await t.api.get(PERSISTENT_VOLUME_CLAIMS, claimRef(t))
  // An API server without the feature gate drops the namespace, and then there is nothing to test.
  if (spec?.dataSourceRef?.namespace === undefined) return
  await refused(t, 'dataSourceRef namespace specified but the CrossNamespaceVolumeDataSource feature is disabled')
})

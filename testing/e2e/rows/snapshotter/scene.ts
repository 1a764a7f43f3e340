import {
  EVENTS,
  type Event,
  type KubeObject,
  type Resource,
  VOLUME_GROUP_SNAPSHOT_CLASSES,
  VOLUME_GROUP_SNAPSHOT_CONTENTS,
  VOLUME_SNAPSHOT_CLASSES,
  VOLUME_SNAPSHOT_CONTENTS,
  VOLUME_SNAPSHOTS,
  type VolumeGroupSnapshotContent,
  type VolumeSnapshot,
  type VolumeSnapshotClass,
  type VolumeSnapshotContent,
} from '@csi-sidecars/kube-types'
import type { Cluster } from '../../harness/api/cluster.ts'
import { installSnapshotCrds } from '../../harness/api/kubectl.ts'
import type { RunningSidecar, SidecarSetup, TestContext } from '../../harness/context.ts'
import type { Call, Capabilities, DriverReply, FakeDriver } from '../../harness/driver/driver.ts'
import { eventually } from '../../harness/waiting.ts'

export const UID = '00000000-1111-2222-3333-444444444444'
export const SNAPSHOT = 'snapshot.storage.kubernetes.io/volumesnapshot'
export const GROUP = 'groupsnapshot.storage.kubernetes.io/volumegroupsnapshot'
export const FINALIZER = `${SNAPSHOT}content-bound-protection`
export const GROUP_FINALIZER = `${GROUP}content-bound-protection`
/** The variable in Secret templates that stands for the name of the VolumeSnapshotContent. */
export const NAME = ['$', '{volumesnapshotcontent.name}'].join('')
export const GROUP_NAME = ['$', '{volumegroupsnapshotcontent.name}'].join('')
export const SNAPSHOTS: Capabilities['controller'] = ['CREATE_DELETE_SNAPSHOT', 'LIST_SNAPSHOTS']

const installed = new WeakMap<Cluster, Promise<void>>()

/** A running snapshotter and its driver. */
export interface SnapshotterScene {
  readonly driver: FakeDriver
  readonly snapshotter: RunningSidecar
}

/** The differences of a snapshotter's scene from the default: a driver that creates and lists snapshots. */
export interface SnapshotterSetup extends SidecarSetup {
  readonly controller?: Capabilities['controller']
  /** Prepares the driver before the snapshotter starts. */
  readonly prepare?: (driver: FakeDriver) => void
  /** The resources that must be watched before the test continues. Default: contents and classes. */
  readonly watches?: readonly string[]
}

/**
 * The fields in which a VolumeSnapshotContent or a group content differs from the default. Its name ends with `suffix`.
 */
export interface ContentParts {
  readonly suffix?: string
  readonly metadata?: object
  readonly spec?: object
}

/** Installs the snapshot CRDs on a real API server, once. The emulator serves the snapshot kinds without CRDs. */
export async function installCrds(t: TestContext): Promise<void> {
  if (t.target === 'emulator') return
  const { url, adminToken } = t.cluster
  const crdsInstalled = installed.get(t.cluster) ?? installSnapshotCrds(t.kubeconfig(url, adminToken))
  installed.set(t.cluster, crdsInstalled)
  await crdsInstalled
}

const CONTENTS = ['volumesnapshotcontents', 'volumesnapshotclasses', 'volumegroupsnapshotcontents']

/** Starts a driver that creates snapshots and group snapshots. */
export async function snapshotDriver(t: TestContext, more: Capabilities['controller'] = []): Promise<FakeDriver> {
  return takesSnapshots(await t.driver({ controller: [...SNAPSHOTS, ...more] }))
}

function takesSnapshots(driver: FakeDriver): FakeDriver {
  driver.on('CreateSnapshot', snapshot())
  driver.on('CreateVolumeGroupSnapshot', groupSnapshot())
  return driver
}

/** Starts a driver and the snapshotter. Returns when the snapshotter watches. */
export async function scene(
  t: TestContext,
  { controller = SNAPSHOTS, prepare, watches = CONTENTS, ...setup }: SnapshotterSetup = {},
): Promise<SnapshotterScene> {
  await installCrds(t)
  const driver = takesSnapshots(setup.driver ?? (await t.driver({ controller })))
  prepare?.(driver)
  const snapshotter = await t.sidecar({ ...setup, driver, app: 'snapshotter' })
  await t.watching(snapshotter, ...watches)
  return { driver, snapshotter }
}

/** The creation time in the driver's answers: 1,700,000,000.123456789 seconds after 1970. */
export const CREATED = { seconds: 1_700_000_000n, nanos: 123_456_789 }

export function described(change: object = {}): object {
  return {
    snapshotId: 'snap-1',
    sourceVolumeId: 'vol-1',
    sizeBytes: 1024n,
    creationTime: CREATED,
    readyToUse: true,
    groupSnapshotId: '',
    accessibleTopology: [],
    ...change,
  }
}

export function snapshot(change: object = {}, more: object = {}): DriverReply {
  return { reply: { snapshot: described(change) }, ...more }
}

export function listed(change: object = {}): DriverReply {
  return { reply: { entries: [{ snapshot: described(change) }], nextToken: '' } }
}

export function groupSnapshot(change: object = {}): DriverReply {
  const snapshots = ['1', '2'].map((n) => described({ snapshotId: `s-${n}`, sourceVolumeId: `vol-${n}` }))
  const group = { groupSnapshotId: 'group-1', snapshots, creationTime: CREATED, readyToUse: true }
  return { reply: { groupSnapshot: { ...group, ...change } } }
}

interface ClassParts {
  readonly driver?: string
  readonly labels?: Readonly<Record<string, string>>
}

type Parameters = Readonly<Record<string, string>>

export function createClass(t: TestContext, parameters?: Parameters, fields?: ClassParts): Promise<void> {
  return createClassOf(t, VOLUME_SNAPSHOT_CLASSES, { ...fields, parameters })
}

export function createGroupClass(t: TestContext, parameters?: Parameters, fields?: ClassParts): Promise<void> {
  return createClassOf(t, VOLUME_GROUP_SNAPSHOT_CLASSES, { ...fields, parameters })
}

async function createClassOf(
  t: TestContext,
  resource: Resource<VolumeSnapshotClass>,
  {
    driver = t.driverName,
    labels = {},
    parameters = {},
  }: ClassParts & { readonly parameters?: Parameters | undefined },
): Promise<void> {
  await installCrds(t)
  const head = { apiVersion: `${resource.group}/v1`, kind: resource.kind, metadata: { name: t.name('class'), labels } }
  const made = await t.create(resource, { ...head, driver, deletionPolicy: 'Delete', parameters })
  // A snapshot of an unknown class fails once.
  await t.received(resource, made)
}

interface Usual {
  readonly suffix: string
  readonly finalizer: string
  readonly spec: object
  readonly fields: ContentParts
}

/** Creates a snapshot content or a group content. `parts` override the default fields. Returns its name. */
async function createOf(t: TestContext, resource: Resource<KubeObject>, usual: Usual): Promise<string> {
  await installCrds(t)
  const { fields } = usual
  const name = t.name(fields.suffix ?? usual.suffix)
  const head = { apiVersion: `${resource.group}/v1`, kind: resource.kind }
  const metadata = { name, finalizers: [usual.finalizer], ...fields.metadata }
  const spec = { driver: t.driverName, deletionPolicy: 'Delete', ...usual.spec, ...fields.spec }
  await t.create(resource, { ...head, metadata, spec } as KubeObject)
  return name
}

/** Creates a VolumeSnapshotContent that asks for a snapshot. Returns its name. */
export function createContent(t: TestContext, fields: ContentParts = {}): Promise<string> {
  const spec = {
    volumeSnapshotClassName: t.name('class'),
    source: { volumeHandle: 'vol-1' },
    volumeSnapshotRef: { namespace: 'default', name: 'snap', uid: UID },
  }
  return createOf(t, VOLUME_SNAPSHOT_CONTENTS, { suffix: 'content', finalizer: FINALIZER, spec, fields })
}

/** Creates a VolumeSnapshotContent for a pre-provisioned snapshot. Returns its name. */
export function createGiven(t: TestContext, { spec, ...fields }: ContentParts = {}): Promise<string> {
  const source = { source: { snapshotHandle: 'snap-given' }, volumeSnapshotClassName: undefined }
  return createContent(t, { ...fields, spec: { ...source, ...spec } })
}

interface SnapshotParts {
  readonly source: { readonly persistentVolumeClaimName?: string; readonly volumeSnapshotContentName?: string }
  readonly metadata?: object | undefined
  readonly status?: object | undefined
}

/** Creates a VolumeSnapshot, as a user does. */
export async function createVolumeSnapshot(
  t: TestContext,
  suffix: string,
  { source, metadata, status }: SnapshotParts,
): Promise<VolumeSnapshot> {
  await installCrds(t)
  const ref = { namespace: t.namespace, name: t.name(suffix) }
  const made = await t.create(VOLUME_SNAPSHOTS, {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshot',
    metadata: { ...ref, ...metadata },
    spec: { source, volumeSnapshotClassName: t.name('class') },
  })
  if (status !== undefined) await t.api.merge(VOLUME_SNAPSHOTS, { ...ref, subresource: 'status' }, { status })
  return made
}

/** Returns the data source of a claim that is restored from a VolumeSnapshot. */
export function snapshotSource(t: TestContext, suffix: string) {
  return { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: t.name(suffix) }
}

export function createGroup(t: TestContext, fields: ContentParts = {}): Promise<string> {
  const spec = {
    volumeGroupSnapshotClassName: t.name('class'),
    source: { volumeHandles: ['vol-1', 'vol-2'] },
    volumeGroupSnapshotRef: { namespace: 'default', name: 'group', uid: UID },
  }
  return createOf(t, VOLUME_GROUP_SNAPSHOT_CONTENTS, { suffix: 'group', finalizer: GROUP_FINALIZER, spec, fields })
}

/** Creates a VolumeGroupSnapshotContent for pre-provisioned snapshots. Returns its name. */
export function createGivenGroup(t: TestContext, { spec, ...fields }: ContentParts = {}): Promise<string> {
  const handles = { volumeGroupSnapshotHandle: 'group-given', volumeSnapshotHandles: ['given-1', 'given-2'] }
  const source = { source: { groupSnapshotHandles: handles }, volumeGroupSnapshotClassName: undefined }
  return createGroup(t, { ...fields, spec: { ...source, ...spec } })
}

/** Annotations that make a VolumeSnapshotContent a member of a group. */
export const MEMBER = { 'groupsnapshot.storage.k8s.io/volumeGroupSnapshotHandle': 'group-1' }

/** Returns the annotations by which the snapshot-controller names a Secret. */
export function secretAnnotations(prefix: string, name?: string, namespace?: string): Record<string, string> {
  const key = `${prefix.slice(0, prefix.indexOf('/'))}/deletion-secret-`
  return {
    ...(name !== undefined && { [`${key}name`]: name }),
    ...(namespace !== undefined && { [`${key}namespace`]: namespace }),
  }
}

/** Writes the handles of a member into its status, as the snapshot-controller does. */
export function joinGroup(t: TestContext, name: string): Promise<unknown> {
  return setStatus(t, name, { snapshotHandle: 'snap-m', volumeGroupSnapshotHandle: 'group-1' })
}

export function getContent(t: TestContext, name = t.name('content')): Promise<VolumeSnapshotContent | undefined> {
  return t.api.find(VOLUME_SNAPSHOT_CONTENTS, { name })
}

type Content = VolumeSnapshotContent | VolumeGroupSnapshotContent

/** Waits until a snapshot is ready and no creation is under way. */
function readyOf<C extends Content>(t: TestContext, resource: Resource<C>, name: string): Promise<C> {
  return t.api.until(resource, { name }, (content) => content.status?.readyToUse === true && !isMarked(content))
}

export function ready(t: TestContext, name = t.name('content')): Promise<VolumeSnapshotContent> {
  return readyOf(t, VOLUME_SNAPSHOT_CONTENTS, name)
}

export function groupReady(t: TestContext, name = t.name('group')): Promise<VolumeGroupSnapshotContent> {
  return readyOf(t, VOLUME_GROUP_SNAPSHOT_CONTENTS, name)
}

/** Creates a class and a VolumeSnapshotContent, and waits until the snapshot is ready. */
export async function snapshotTaken(t: TestContext, fields?: ContentParts): Promise<VolumeSnapshotContent> {
  await createClass(t)
  return await ready(t, await createContent(t, fields))
}

/** Creates a group class and a VolumeGroupSnapshotContent, and waits until the group snapshot is ready. */
export async function groupTaken(t: TestContext, fields?: ContentParts): Promise<VolumeGroupSnapshotContent> {
  await createGroupClass(t)
  return await groupReady(t, await createGroup(t, fields))
}

export function isMarked({ metadata }: KubeObject): boolean {
  return Object.keys(metadata?.annotations ?? {}).some((key) => key.endsWith('snapshot-being-created'))
}

/** Waits until the status of the VolumeSnapshotContent has this error. Returns the error message. */
export async function failed(t: TestContext, message: string | RegExp, name = t.name('content')): Promise<string> {
  return await eventually(`${name} fails with ${message}`, async () => {
    const { message: text } = (await getContent(t, name))?.status?.error ?? {}
    if (typeof text !== 'string') return undefined
    return (typeof message === 'string' ? text === message : message.test(text)) && text
  })
}

/** Annotates and deletes a snapshot content, as the snapshot-controller does if its VolumeSnapshot is deleted. */
export async function remove(
  t: TestContext,
  name = t.name('content'),
  resource: Resource<KubeObject> = VOLUME_SNAPSHOT_CONTENTS,
): Promise<void> {
  const prefix = resource === VOLUME_GROUP_SNAPSHOT_CONTENTS ? GROUP : SNAPSHOT
  await t.api.merge(resource, { name }, { metadata: { annotations: { [`${prefix}-being-deleted`]: 'yes' } } })
  await t.api.delete(resource, { name })
}

export async function gone(
  t: TestContext,
  name = t.name('content'),
  resource: Resource<KubeObject> = VOLUME_SNAPSHOT_CONTENTS,
): Promise<void> {
  await t.api.untilGone(resource, { name })
}

/** Removes a VolumeSnapshotContent as `remove` does, and waits until it is gone. */
export async function untilRemoved(t: TestContext, name?: string, resource?: Resource<KubeObject>): Promise<void> {
  await remove(t, name, resource)
  await gone(t, name, resource)
}

/** Removes the VolumeGroupSnapshotContent, and waits until it is gone. */
export function groupRemoved(t: TestContext): Promise<void> {
  return untilRemoved(t, t.name('group'), VOLUME_GROUP_SNAPSHOT_CONTENTS)
}

export function setStatus(t: TestContext, name: string, status: object): Promise<unknown> {
  return t.api.merge(VOLUME_SNAPSHOT_CONTENTS, { name, subresource: 'status' }, { status })
}

export function snapshotCalls(driver: FakeDriver): readonly Call[] {
  return driver.calls.filter(({ method }) => /Snapshots?$/.test(method))
}

/** Returns the events about an object, as `Reason: message`. */
export async function eventsOf(t: TestContext, name = t.name('content')): Promise<readonly string[]> {
  const all: readonly Event[] = await t.api.list(EVENTS, 'default')
  return all
    .filter(({ involvedObject }) => involvedObject.name === name)
    .map(({ reason, message }) => `${reason}: ${message}`)
}

import {
  EVENTS,
  type Event,
  type KubeObject,
  type Resource,
  VOLUME_GROUP_SNAPSHOT_CLASSES,
  VOLUME_GROUP_SNAPSHOT_CONTENTS,
  VOLUME_SNAPSHOT_CLASSES,
  VOLUME_SNAPSHOT_CONTENTS,
  type VolumeGroupSnapshotContent,
  type VolumeSnapshotContent,
} from '@csi-sidecars/kube-types'
import type { Cluster } from '../../harness/api/cluster.ts'
import { installSnapshotCrds } from '../../harness/api/kubectl.ts'
import type { RunningSidecar, SidecarSetup, TestContext } from '../../harness/context.ts'
import type { Answer, Call, Capabilities, Driver } from '../../harness/driver/driver.ts'
import { eventually, pause } from '../../harness/waiting.ts'

export const UID = '00000000-1111-2222-3333-444444444444'
export const SNAPSHOT = 'snapshot.storage.kubernetes.io/volumesnapshot'
export const GROUP = 'groupsnapshot.storage.kubernetes.io/volumegroupsnapshot'
export const FINALIZER = `${SNAPSHOT}content-bound-protection`
export const GROUP_FINALIZER = `${GROUP}content-bound-protection`
/** The tokens for the name of a content in templates of Secrets. */
export const NAME = ['$', '{volumesnapshotcontent.name}'].join('')
export const GROUP_NAME = ['$', '{volumegroupsnapshotcontent.name}'].join('')
export const SNAPSHOTS: Capabilities['controller'] = ['CREATE_DELETE_SNAPSHOT', 'LIST_SNAPSHOTS']

const installed = new WeakMap<Cluster, Promise<void>>()

/** Installs the CRDs of the Go original on a real server, once. The emulator serves the kinds by itself. */
export async function installCrds(t: TestContext): Promise<void> {
  if (t.target === 'emulator') return
  const { url, adminToken } = t.cluster
  const known = installed.get(t.cluster) ?? installSnapshotCrds(t.kubeconfig(url, adminToken))
  installed.set(t.cluster, known)
  await known
}

export interface Scene {
  readonly driver: Driver
  readonly snapshotter: RunningSidecar
}

export interface SceneSetup extends SidecarSetup {
  readonly controller?: Capabilities['controller']
  readonly prepare?: (driver: Driver) => void
  readonly watches?: readonly string[]
}

const CONTENTS = ['volumesnapshotcontents', 'volumesnapshotclasses', 'volumegroupsnapshotcontents']

/** Starts a driver that creates snapshots and group snapshots. */
export async function snapshotDriver(t: TestContext, more: Capabilities['controller'] = []): Promise<Driver> {
  const driver = await t.driver({ controller: [...SNAPSHOTS, ...more] })
  driver.on('CreateSnapshot', snapshot())
  driver.on('CreateVolumeGroupSnapshot', groupSnapshot())
  return driver
}

/** Starts a driver and the snapshotter. Returns when the snapshotter watches. */
export async function scene(
  t: TestContext,
  { controller = SNAPSHOTS, prepare, watches = CONTENTS, ...setup }: SceneSetup = {},
): Promise<Scene> {
  await installCrds(t)
  const driver = setup.driver ?? (await t.driver({ controller }))
  driver.on('CreateSnapshot', snapshot())
  driver.on('CreateVolumeGroupSnapshot', groupSnapshot())
  prepare?.(driver)
  const snapshotter = await t.sidecar({ ...setup, driver, app: 'snapshotter' })
  await t.watching(snapshotter, ...watches)
  return { driver, snapshotter }
}

/** The creation time in the driver's answers: 1,700,000,000.123456789 seconds after 1970. */
export const CREATED = { seconds: 1_700_000_000n, nanos: 123_456_789 }
export const CREATED_NANOSECONDS = '1700000000123456789'

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

export function snapshot(change: object = {}, more: object = {}): Answer {
  return { reply: { snapshot: described(change) }, ...more }
}

export function listed(change: object = {}): Answer {
  return { reply: { entries: [{ snapshot: described(change) }], nextToken: '' } }
}

export function groupSnapshot(change: object = {}): Answer {
  const snapshots = ['1', '2'].map((n) => described({ snapshotId: `s-${n}`, sourceVolumeId: `vol-${n}` }))
  const group = { groupSnapshotId: 'group-1', snapshots, creationTime: CREATED, readyToUse: true }
  return { reply: { groupSnapshot: { ...group, ...change } } }
}

interface ClassParts {
  readonly driver?: string
  readonly labels?: Readonly<Record<string, string>>
}

export async function createClass(
  t: TestContext,
  parameters: Readonly<Record<string, string>> = {},
  { driver = t.driverName, labels = {} }: ClassParts = {},
): Promise<void> {
  await t.create(VOLUME_SNAPSHOT_CLASSES, {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshotClass',
    metadata: { name: t.name('class'), labels },
    driver,
    deletionPolicy: 'Delete',
    parameters,
  })
  await seenBySidecars(t)
}

export async function createGroupClass(
  t: TestContext,
  parameters: Readonly<Record<string, string>> = {},
  { driver = t.driverName, labels = {} }: ClassParts = {},
): Promise<void> {
  await t.create(VOLUME_GROUP_SNAPSHOT_CLASSES, {
    apiVersion: 'groupsnapshot.storage.k8s.io/v1',
    kind: 'VolumeGroupSnapshotClass',
    metadata: { name: t.name('class'), labels },
    driver,
    deletionPolicy: 'Delete',
    parameters,
  })
  await seenBySidecars(t)
}

/** Gives running sidecars time to see a class. Otherwise the next content fails once, because its class is unknown. */
async function seenBySidecars({ sidecars }: TestContext): Promise<void> {
  if (sidecars.length > 0) await pause(300)
}

export interface ContentParts {
  readonly what?: string
  readonly metadata?: object
  readonly spec?: object
}

/** Creates a content that asks for a snapshot. Returns its name. */
export async function createContent(t: TestContext, parts: ContentParts = {}): Promise<string> {
  const { what = 'content', metadata = {}, spec = {} } = parts
  const name = t.name(what)
  await t.create(VOLUME_SNAPSHOT_CONTENTS, {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshotContent',
    metadata: { name, finalizers: [FINALIZER], ...metadata },
    spec: {
      driver: t.driverName,
      deletionPolicy: 'Delete',
      volumeSnapshotClassName: t.name('class'),
      source: { volumeHandle: 'vol-1' },
      volumeSnapshotRef: { namespace: 'default', name: 'snap', uid: UID },
      ...spec,
    },
  })
  return name
}

/** Creates a content for a pre-provisioned snapshot. Returns its name. */
export function createGiven(
  t: TestContext,
  { what = 'content', metadata, spec = {} }: ContentParts = {},
): Promise<string> {
  const source = { source: { snapshotHandle: 'snap-given' }, volumeSnapshotClassName: undefined }
  return createContent(t, { what, ...(metadata && { metadata }), spec: { ...source, ...spec } })
}

export async function createGroup(
  t: TestContext,
  { what = 'group', metadata = {}, spec = {} }: ContentParts = {},
): Promise<string> {
  const name = t.name(what)
  await t.create(VOLUME_GROUP_SNAPSHOT_CONTENTS, {
    apiVersion: 'groupsnapshot.storage.k8s.io/v1',
    kind: 'VolumeGroupSnapshotContent',
    metadata: { name, finalizers: [GROUP_FINALIZER], ...metadata },
    spec: {
      driver: t.driverName,
      deletionPolicy: 'Delete',
      volumeGroupSnapshotClassName: t.name('class'),
      source: { volumeHandles: ['vol-1', 'vol-2'] },
      volumeGroupSnapshotRef: { namespace: 'default', name: 'group', uid: UID },
      ...spec,
    },
  })
  return name
}

/** Creates a group content for pre-provisioned snapshots. Returns its name. */
export function createGivenGroup(
  t: TestContext,
  { what = 'group', metadata, spec = {} }: ContentParts = {},
): Promise<string> {
  const groupSnapshotHandles = {
    volumeGroupSnapshotHandle: 'group-given',
    volumeSnapshotHandles: ['given-1', 'given-2'],
  }
  const source = { source: { groupSnapshotHandles }, volumeGroupSnapshotClassName: undefined }
  return createGroup(t, { what, ...(metadata && { metadata }), spec: { ...source, ...spec } })
}

export function getContent(t: TestContext, name = t.name('content')): Promise<VolumeSnapshotContent | undefined> {
  return t.api.find(VOLUME_SNAPSHOT_CONTENTS, { name })
}

/** Waits until the snapshot is ready and no creation is under way. */
export async function ready(t: TestContext, name = t.name('content')): Promise<VolumeSnapshotContent> {
  return await eventually(`${name} is ready`, async () => {
    const content = await getContent(t, name)
    return content?.status?.readyToUse === true && !isMarked(content) && content
  })
}

export async function groupReady(t: TestContext, name = t.name('group')): Promise<VolumeGroupSnapshotContent> {
  return await eventually(`${name} is ready`, async () => {
    const group = await t.api.find(VOLUME_GROUP_SNAPSHOT_CONTENTS, { name })
    return group?.status?.readyToUse === true && !isMarked(group) && group
  })
}

export function isMarked({ metadata }: KubeObject): boolean {
  return Object.keys(metadata?.annotations ?? {}).some((key) => key.endsWith('snapshot-being-created'))
}

/** Waits until the status of the content has this error. Returns the error message. */
export async function failed(t: TestContext, message: string | RegExp, name = t.name('content')): Promise<string> {
  return await eventually(`${name} fails with ${message}`, async () => {
    const { message: text } = (await getContent(t, name))?.status?.error ?? {}
    if (typeof text !== 'string') return undefined
    return (typeof message === 'string' ? text === message : message.test(text)) && text
  })
}

/** Annotates and deletes a content, as the snapshot-controller does after the deletion of its VolumeSnapshot. */
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
  await eventually(`${name} is gone`, async () => (await t.api.find(resource, { name })) === undefined)
}

export function setStatus(t: TestContext, name: string, status: object): Promise<unknown> {
  return t.api.merge(VOLUME_SNAPSHOT_CONTENTS, { name, subresource: 'status' }, { status })
}

/** Returns the purposes of the snapshotter's writes, and its snapshot calls, in the order of their arrival. */
export function wire({ driver, snapshotter }: Scene): readonly string[] {
  const writes = snapshotter.gate
    .writes('volumesnapshotcontents', 'volumesnapshotcontents/status')
    .concat(snapshotter.gate.writes('volumegroupsnapshotcontents', 'volumegroupsnapshotcontents/status'))
    .map(({ time, resource, body }) => ({ time, what: purposeOf(resource, body) }))
  const calls = snapshotCalls(driver).map(({ start, method }) => ({ time: start, what: method }))
  return [...writes, ...calls].sort((a, b) => a.time - b.time).map(({ what }) => what)
}

function purposeOf(resource: string, body: unknown): string {
  const text = JSON.stringify(body)
  if (resource.endsWith('/status')) return /"error":\{/.test(text) ? 'error' : 'status'
  if (!text.includes('being-created')) return 'release'
  return text.includes('"yes"') ? 'mark' : 'unmark'
}

export function snapshotCalls(driver: Driver): readonly Call[] {
  return driver.calls.filter(({ method }) => /Snapshots?$/.test(method))
}

/** Returns the events about an object, as `Reason: message`. */
export async function eventsOf(t: TestContext, name = t.name('content')): Promise<readonly string[]> {
  const all: readonly Event[] = await t.api.list(EVENTS, 'default')
  return all
    .filter(({ involvedObject }) => involvedObject.name === name)
    .map(({ reason, message }) => `${reason}: ${message}`)
}

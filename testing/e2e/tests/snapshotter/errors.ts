import { deepStrictEqual as equal, ok } from 'node:assert'
import {
  type KubeObject,
  type Resource,
  VOLUME_GROUP_SNAPSHOT_CONTENTS,
  VOLUME_SNAPSHOT_CONTENTS,
  type VolumeGroupSnapshotContent,
  type VolumeSnapshotContent,
} from '@csi-sidecars/kube-types'
import { refusal } from '../../harness/api/gate.ts'
import type { TestContext } from '../../harness/context.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import {
  type ContentParts,
  createClass,
  createContent,
  createGiven,
  createGivenGroup,
  createGroup,
  createGroupClass,
  eventsOf,
  GROUP,
  GROUP_NAME,
  gone,
  groupReady,
  installCrds,
  isMarked,
  NAME,
  ready,
  remove,
  type Scene,
  type SceneSetup,
  SNAPSHOT,
  scene,
  setStatus,
  snapshot,
} from './scene.ts'

/** Tests of the error texts in the status of contents and in events. */

const INTERNAL = { code: 13, message: 'no' }
const NO = 'rpc error: code = Internal desc = no'
const NOPE = refusal(403, 'Forbidden', 'nope')
const ONCE = ['--retry-interval-start=1h', '--retry-interval-max=1h']

type Kind = 'content' | 'given' | 'member' | 'group' | 'given group'

interface Failure {
  readonly of: Kind
  /** The parameters of the class. Undefined: the class does not exist. */
  readonly parameters?: Readonly<Record<string, string>>
  readonly parts?: (t: TestContext) => ContentParts
  readonly setup?: Omit<SceneSetup, 'args'> & { readonly args?: readonly string[] }
  /** Injects the fault after the start of the sidecar. */
  readonly begun?: (at: Scene) => void
  /** Returns the expected error text, which follows the text of the phase. */
  readonly says: (name: string, className: string) => string
  /** True if the annotation stays, because the creation may be running. */
  readonly marked?: true
  /** True if the Go original adds the annotation although it calls no driver. */
  readonly notSent?: true
}

const PHASES: Readonly<Record<Kind, readonly [reason: string, text: string]>> = {
  content: ['SnapshotCreationFailed', 'Failed to create snapshot'],
  given: ['SnapshotContentCheckandUpdateFailed', 'Failed to check and update snapshot content'],
  member: ['SnapshotContentCheckandUpdateFailed', 'Failed to check and update snapshot content'],
  group: ['GroupSnapshotCreationFailed', 'Failed to create group snapshot'],
  'given group': ['GroupSnapshotContentCheckandUpdateFailed', 'Failed to check and update group snapshot content'],
}

const isGroup = (kind: Kind): boolean => kind === 'group' || kind === 'given group'

/** Creates a content of this kind. Returns its name. */
async function createOf(t: TestContext, kind: Kind, parts: ContentParts): Promise<string> {
  if (kind === 'content') return await createContent(t, parts)
  if (kind === 'given') return await createGiven(t, parts)
  if (kind === 'group') return await createGroup(t, parts)
  if (kind === 'given group') return await createGivenGroup(t, parts)
  const { metadata = {}, ...rest } = parts
  const annotations = {
    'groupsnapshot.storage.k8s.io/volumeGroupSnapshotHandle': 'group-1',
    ...(metadata as { annotations?: object }).annotations,
  }
  const name = await createContent(t, {
    ...rest,
    metadata: { ...metadata, annotations },
    spec: { volumeSnapshotClassName: undefined },
  })
  await setStatus(t, name, { snapshotHandle: 'snap-m', volumeGroupSnapshotHandle: 'group-1' })
  return name
}

/** Returns metadata with the annotations by which the snapshot-controller names a Secret. */
function secretOf(prefix: string, name: string, namespace = 'default'): object {
  const key = `${prefix.slice(0, prefix.indexOf('/'))}/deletion-secret-`
  return { annotations: { [`${key}name`]: name, [`${key}namespace`]: namespace } }
}

const reserved = (key: string): string => `csi.storage.k8s.io/${key}`
const LIST = reserved('snapshotter-list-secret-name')
const LIST_NAMESPACE = reserved('snapshotter-list-secret-namespace')
const GET = reserved('group-snapshotter-get-secret-name')
const GET_NAMESPACE = reserved('group-snapshotter-get-secret-namespace')
const classNamed = (key: string) => (t: TestContext) => ({ spec: { [key]: t.name('class') } })
const withClass = classNamed('volumeSnapshotClassName')
const withGroupClass = classNamed('volumeGroupSnapshotClassName')
const TEMPLATE = 'failed to get name and namespace template from params'

/** Refuses the write number `nth` of the object's metadata, counted from 0. */
function refuseWrite(resource: string, nth: number): (at: Scene) => void {
  return ({ snapshotter }) => {
    let seen = 0
    snapshotter.gate.inject(`PATCH ${resource}`, NOPE, {
      where: () => {
        seen += 1
        return seen - 1 === nth
      },
    })
  }
}

const refused = (name: string): string => `snapshot controller failed to update ${name} on API server: nope`
const taking = (error: string) => () => `failed to take snapshot of the volume vol-1: ${error}`
const inputs = (reason: (name: string, className: string) => string) => (name: string, className: string) =>
  `failed to get input parameters to create snapshot for content ${name}: ${JSON.stringify(reason(name, className))}`
const groupInputs = (reason: (name: string, className: string) => string) => (name: string, className: string) =>
  `failed to get input parameters to create group snapshot for group snapshot content ${name}: ${JSON.stringify(reason(name, className))}`
const takingGroup = (error: string) => () => `failed to take group snapshot of the volumes [vol-1 vol-2]: ${error}`

const FAILURES: Readonly<Record<string, Failure>> = {
  'a driver that refuses, whose message is quoted': {
    of: 'content',
    parameters: {},
    begun: ({ driver }) => driver.on('CreateSnapshot', { code: 13, message: 'no "way"\n' }),
    says: taking('"rpc error: code = Internal desc = no \\"way\\"\\n"'),
  },
  'a driver that does not answer in time': {
    of: 'content',
    parameters: {},
    setup: { args: ['--timeout=1s'] },
    begun: ({ driver }) => driver.on('CreateSnapshot', 'hang'),
    says: taking('"rpc error: code = DeadlineExceeded desc = context deadline exceeded"'),
    marked: true,
  },
  'a driver that does not say its name': {
    of: 'content',
    parameters: {},
    begun: ({ driver }) => driver.on('GetPluginInfo', INTERNAL),
    says: taking(`"${NO}"`),
  },
  'a VolumeSnapshot without a uid': {
    of: 'content',
    parameters: {},
    parts: () => ({ spec: { volumeSnapshotRef: { namespace: 'default', name: 'snap' } } }),
    says: (name) => taking(`"cannot create snapshot. Snapshot content ${name} not bound to a snapshot"`)(),
    notSent: true,
  },
  'a content without a class': {
    of: 'content',
    parts: () => ({ spec: { volumeSnapshotClassName: undefined } }),
    says: inputs((name) => `failed to take snapshot ${name} without a snapshot class`),
  },
  'a class that does not exist': {
    of: 'content',
    says: inputs((_, className) => `volumesnapshotclass.snapshot.storage.k8s.io "${className}" not found`),
  },
  'a Secret that does not exist': {
    of: 'content',
    parameters: {},
    parts: () => ({ metadata: secretOf(SNAPSHOT, 'none') }),
    says: inputs((name) => `cannot get credentials for snapshot content "${name}"`),
  },
  'a Secret without a name': {
    of: 'content',
    parameters: {},
    parts: () => ({ metadata: secretOf(SNAPSHOT, '') }),
    says: inputs(
      (name) => `cannot retrieve secrets for snapshot content "${name}", err: secret name or namespace not specified`,
    ),
  },
  'a parameter with the reserved prefix': {
    of: 'content',
    parameters: { [reserved('x')]: 'y' },
    says: () =>
      'failed to remove CSI Parameters of prefixed keys: found unknown parameter key "csi.storage.k8s.io/x" with reserved namespace csi.storage.k8s.io/',
    notSent: true,
  },
  'an annotation that the API server refuses': {
    of: 'content',
    parameters: {},
    begun: refuseWrite('volumesnapshotcontents', 0),
    says: (name) => `failed to add VolumeSnapshotBeingCreated annotation on the content ${name}: "${refused(name)}"`,
  },
  'a status that the API server refuses': {
    of: 'content',
    parameters: {},
    begun: ({ snapshotter }) => void snapshotter.gate.inject('PATCH volumesnapshotcontents/status', NOPE, { times: 1 }),
    says: (name) => `error updating status for volume snapshot content ${name}: ${refused(name)}`,
    marked: true,
  },
  'a removal of the annotation that the API server refuses after a final error': {
    of: 'content',
    parameters: {},
    begun: (at) => {
      at.driver.on('CreateSnapshot', INTERNAL)
      refuseWrite('volumesnapshotcontents', 1)(at)
    },
    says: (name) => `failed to remove VolumeSnapshotBeingCreated annotation from the content ${name}: ${refused(name)}`,
    marked: true,
  },
  'a listing without an entry': {
    of: 'given',
    begun: ({ driver }) => driver.on('ListSnapshots', { reply: { entries: [], nextToken: '' } }),
    says: (name) => `failed to list snapshot for content ${name}: "can not find snapshot for snapshotID snap-given"`,
  },
  'a listing that the driver refuses': {
    of: 'given',
    begun: ({ driver }) => driver.on('ListSnapshots', INTERNAL),
    says: (name) => `failed to list snapshot for content ${name}: "${NO}"`,
  },
  'a class of a pre-provisioned snapshot that does not exist': {
    of: 'given',
    parts: withClass,
    says: (name, className) =>
      `failed to get snapshot class ${className} for snapshot content ${name}: volumesnapshotclass.snapshot.storage.k8s.io "${className}" not found`,
  },
  'a template without a namespace': {
    of: 'given',
    parameters: { [LIST]: 'creds' },
    parts: withClass,
    says: (name) =>
      `failed to get secret reference for snapshot content ${name}: ${TEMPLATE}: either name and namespace for SnapshotterList secrets specified, Both must be specified`,
  },
  'an empty template': {
    of: 'given',
    parameters: { [LIST]: '', [LIST_NAMESPACE]: 'default' },
    parts: withClass,
    says: (name) =>
      `failed to get secret reference for snapshot content ${name}: ${TEMPLATE}: SnapshotterList secrets specified in parameters but value of either namespace or name is empty`,
  },
  'a template with an unknown token': {
    of: 'given',
    parameters: { [LIST]: 'a-$x', [LIST_NAMESPACE]: 'default' },
    parts: withClass,
    says: (name) =>
      `failed to get secret reference for snapshot content ${name}: error resolving value "a-$x": invalid tokens: ["x"]`,
  },
  'a template that resolves to no name of a Secret': {
    of: 'given',
    parameters: { [LIST]: `A-${NAME}`, [LIST_NAMESPACE]: 'default' },
    parts: withClass,
    says: (name) =>
      `failed to get secret reference for snapshot content ${name}: "A-${NAME}" resolved to "A-${name}" which is not a valid secret name`,
  },
  'a template that resolves to no namespace': {
    of: 'given',
    parameters: { [LIST]: 'creds', [LIST_NAMESPACE]: 'a.b' },
    parts: withClass,
    says: (name) => `failed to get secret reference for snapshot content ${name}: "a.b" is not a valid namespace name`,
  },
  'a Secret of a template that does not exist': {
    of: 'given',
    parameters: { [LIST]: 'none', [LIST_NAMESPACE]: 'default' },
    parts: withClass,
    says: (name) =>
      `failed to get credentials for snapshot content ${name}: error getting secret none in namespace default: secrets "none" not found`,
  },
  'a Secret of a member that does not exist': {
    of: 'member',
    // The Go original notices the handles only at its next retry.
    setup: { args: ['--retry-interval-start=100ms', '--retry-interval-max=100ms'] },
    parts: () => ({ metadata: secretOf(SNAPSHOT, 'none') }),
    says: (name) =>
      `failed to get credentials from annotation for snapshot content ${name}: cannot get credentials for snapshot content "${name}"`,
  },
  'a group that the driver refuses': {
    of: 'group',
    parameters: {},
    begun: ({ driver }) => driver.on('CreateVolumeGroupSnapshot', INTERNAL),
    says: takingGroup(`"${NO}"`),
  },
  'a driver without group snapshots': {
    of: 'group',
    parameters: {},
    begun: ({ driver }) => driver.on('CreateVolumeGroupSnapshot', { code: 12, message: 'unknown service' }),
    says: takingGroup('"rpc error: code = Unimplemented desc = unknown service"'),
  },
  'a group that the driver may still create': {
    of: 'group',
    parameters: {},
    begun: ({ driver }) => driver.on('CreateVolumeGroupSnapshot', { code: 10, message: 'busy' }),
    says: takingGroup('"rpc error: code = Aborted desc = busy"'),
    marked: true,
  },
  'a VolumeGroupSnapshot without a uid': {
    of: 'group',
    parameters: {},
    parts: () => ({ spec: { volumeGroupSnapshotRef: { namespace: 'default', name: 'group' } } }),
    says: (name) =>
      takingGroup(`"cannot create group snapshot. Group snapshot content ${name} not bound to a group snapshot"`)(),
    notSent: true,
  },
  'a group class that does not exist': {
    of: 'group',
    says: groupInputs(
      (_, className) => `volumegroupsnapshotclass.groupsnapshot.storage.k8s.io "${className}" not found`,
    ),
  },
  'a group without a class': {
    of: 'group',
    parts: () => ({ spec: { volumeGroupSnapshotClassName: undefined } }),
    says: groupInputs((name) => `failed to take group snapshot ${name} without a group snapshot class`),
  },
  'a Secret of a group that does not exist': {
    of: 'group',
    parameters: {},
    parts: () => ({ metadata: secretOf(GROUP, 'none') }),
    says: groupInputs((name) => `cannot get credentials for group snapshot content "${name}"`),
  },
  'an annotation of a group that the API server refuses': {
    of: 'group',
    parameters: {},
    begun: refuseWrite('volumegroupsnapshotcontents', 0),
    says: (name) =>
      `failed to add VolumeGroupSnapshotBeingCreated annotation on the group snapshot content ${name}: "${refused(name)}"`,
  },
  'a status of a group that the API server refuses': {
    of: 'group',
    parameters: {},
    begun: ({ snapshotter }) =>
      void snapshotter.gate.inject('WRITE volumegroupsnapshotcontents/status', NOPE, { times: 1 }),
    says: (name) => `error updating status for volume group snapshot content ${name}: ${refused(name)}`,
    marked: true,
  },
  'a pre-provisioned group that the driver refuses': {
    of: 'given group',
    begun: ({ driver }) => driver.on('GetVolumeGroupSnapshot', INTERNAL),
    says: (name) => `failed to list group snapshot for group snapshot content ${name}: "${NO}"`,
  },
  'a pre-provisioned group without handles of snapshots': {
    of: 'given group',
    parts: () => ({
      spec: { source: { groupSnapshotHandles: { volumeGroupSnapshotHandle: 'group-1', volumeSnapshotHandles: [] } } },
    }),
    says: (name) => `cannot list group snapshot ${name}. No snapshots found in the group snapshot content`,
  },
  'a class of a pre-provisioned group that does not exist': {
    of: 'given group',
    parts: withGroupClass,
    says: (name, className) =>
      `failed to get group snapshot class ${className} for group snapshot content ${name}: volumegroupsnapshotclass.groupsnapshot.storage.k8s.io "${className}" not found`,
  },
  'a template of a group without a namespace': {
    of: 'given group',
    parameters: { [GET]: 'creds' },
    parts: withGroupClass,
    says: (name) =>
      `failed to get secret reference for group snapshot content ${name}: ${TEMPLATE}: either name and namespace for GroupSnapshotterGet secrets specified, Both must be specified`,
  },
  'a Secret of a template of a group that does not exist': {
    of: 'given group',
    parameters: { [GET]: GROUP_NAME, [GET_NAMESPACE]: 'default' },
    parts: withGroupClass,
    says: (name) =>
      `failed to get credentials for group snapshot content ${name}: error getting secret ${name} in namespace default: secrets "${name}" not found`,
  },
}

const failing = testsOf('snapshotter', 'failure')

for (const [what, { of, parameters, parts = () => ({}), setup = {}, begun, says, marked, notSent }] of Object.entries(
  FAILURES,
)) {
  failing(`reports ${what}`, async (t) => {
    await installCrds(t)
    if (parameters !== undefined) await (isGroup(of) ? createGroupClass(t, parameters) : createClass(t, parameters))
    const at = await scene(t, { ...setup, args: [...ONCE, ...(setup.args ?? [])] })
    begun?.(at)
    const name = await createOf(t, of, { what: 'object', ...parts(t) })
    const [reason, phase] = PHASES[of]
    const message = `${phase}: ${says(name, t.name('class'))}`
    const resource: Resource<VolumeSnapshotContent | VolumeGroupSnapshotContent> = isGroup(of)
      ? VOLUME_GROUP_SNAPSHOT_CONTENTS
      : VOLUME_SNAPSHOT_CONTENTS
    const object = await eventually('the error', async () => {
      const found = await t.api.find(resource as Resource<VolumeSnapshotContent>, { name })
      return found?.status?.error?.message !== undefined && found
    })
    equal(object.status?.error?.message, message)
    equal(object.status?.readyToUse, false)
    ok(Math.abs(Date.parse(object.status?.error?.time ?? '') - Date.now()) < 30_000)
    if (t.ours || notSent === undefined) equal(isMarked(object), marked === true)
    await eventually('the event', async () => (await eventsOf(t, name)).length > 0)
    equal(await eventsOf(t, name), [`${reason}: ${message}`])
  })
}

const CODES = ['Canceled', 'Unknown', 'InvalidArgument', 'DeadlineExceeded', 'NotFound', 'AlreadyExists'].concat(
  ['PermissionDenied', 'ResourceExhausted', 'FailedPrecondition', 'Aborted', 'OutOfRange', 'Unimplemented'],
  ['Internal', 'Unavailable', 'DataLoss', 'Unauthenticated'],
)
const UNCERTAIN = ['Canceled', 'DeadlineExceeded', 'ResourceExhausted', 'Aborted', 'Unavailable']

failing('keeps the annotation only after codes that leave the creation running', async (t) => {
  await installCrds(t)
  await createClass(t)
  await scene(t, {
    args: ONCE,
    prepare: (driver) =>
      driver.on('CreateSnapshot', ({ request }) => ({ code: Number(request['source_volume_id']), message: 'no' })),
  })
  const names = await Promise.all(
    CODES.map((_, index) =>
      createContent(t, { what: `c${index + 1}`, spec: { source: { volumeHandle: String(index + 1) } } }),
    ),
  )
  const marked = await eventually('all errors', async () => {
    const contents = await Promise.all(names.map((name) => t.api.find(VOLUME_SNAPSHOT_CONTENTS, { name })))
    const texts = contents.map((content) => content?.status?.error?.message ?? '')
    if (!texts.every((text, index) => text.includes(`code = ${CODES[index]} desc`))) return undefined
    return CODES.filter((_, index) => contents[index] !== undefined && isMarked(contents[index]))
  })
  equal([...marked].sort(), [...UNCERTAIN].sort())
})

failing('writes a lasting failure once for each of its two texts', async (t) => {
  await installCrds(t)
  await createClass(t)
  const { driver, snapshotter } = await scene(t, {
    args: ['--retry-interval-start=100ms', '--retry-interval-max=100ms'],
    prepare: (each) => each.on('CreateSnapshot', INTERNAL),
  })
  const name = await createContent(t)
  await eventually('six calls', () => driver.callsOf('CreateSnapshot').length >= 6)
  equal(snapshotter.gate.writes('volumesnapshotcontents/status').length, 2)
  equal((await eventsOf(t, name)).length, 2)
})

failing('sends the event although the status cannot be written', async (t) => {
  await installCrds(t)
  await createClass(t)
  const { driver, snapshotter } = await scene(t, { args: ONCE })
  driver.on('CreateSnapshot', INTERNAL)
  snapshotter.gate.inject('PATCH volumesnapshotcontents/status', NOPE)
  const name = await createContent(t)
  await eventually('the event', async () => (await eventsOf(t, name)).length === 1)
})

failing('keeps the error until the snapshot is ready', async (t) => {
  await installCrds(t)
  await createClass(t)
  const { driver } = await scene(t, {
    args: ['--retry-interval-start=200ms', '--retry-interval-max=200ms'],
    prepare: (each) =>
      each.on('CreateSnapshot', (_, nth) => (nth === 0 ? INTERNAL : snapshot({ readyToUse: nth > 3 }))),
  })
  await createContent(t)
  await eventually('a snapshot that is not ready', () => driver.callsOf('CreateSnapshot').length >= 3)
  const content = await eventually('its handle', async () => {
    const found = await t.api.find(VOLUME_SNAPSHOT_CONTENTS, { name: t.name('content') })
    return found?.status?.snapshotHandle === 'snap-1' && found
  })
  if (content.status?.readyToUse === false) ok(content.status.error?.message !== undefined)
  equal((await ready(t)).status?.error, undefined)
})

interface DeletionFailure {
  readonly group?: true
  /** True if the driver returns a group without snapshots. */
  readonly empty?: true
  readonly fault: (at: Scene) => void
  readonly message: string
  /** The expected number of deletion calls. */
  readonly calls: number
  readonly lasts?: true
  readonly secret?: true
}

const DELETIONS: Readonly<Record<string, DeletionFailure>> = {
  'a driver that refuses': {
    fault: ({ driver }) => driver.on('DeleteSnapshot', (_, nth) => (nth < 2 ? INTERNAL : { reply: {} })),
    message: 'Failed to delete snapshot',
    calls: 3,
  },
  'a status that cannot be cleared': {
    fault: ({ snapshotter }) => void snapshotter.gate.inject('WRITE volumesnapshotcontents/status', NOPE, { times: 1 }),
    message: 'Failed to clear content status',
    calls: 2,
  },
  'a Secret that does not exist': {
    fault: () => undefined,
    secret: true,
    message: 'Failed to get snapshot credentials',
    calls: 0,
    lasts: true,
  },
  'a driver that refuses a group': {
    group: true,
    fault: ({ driver }) => driver.on('DeleteVolumeGroupSnapshot', (_, nth) => (nth < 2 ? INTERNAL : { reply: {} })),
    message: 'Failed to delete group snapshot',
    calls: 3,
  },
  'a status of a group that cannot be cleared': {
    group: true,
    fault: ({ snapshotter }) =>
      void snapshotter.gate.inject('WRITE volumegroupsnapshotcontents/status', NOPE, { times: 1 }),
    message: 'Failed to clear content status',
    calls: 2,
  },
  'a Secret of a group that does not exist': {
    group: true,
    fault: () => undefined,
    secret: true,
    message: 'Failed to get snapshot credentials',
    calls: 0,
    lasts: true,
  },
  'a group without snapshots': {
    group: true,
    empty: true,
    fault: () => undefined,
    message: 'Failed to delete group snapshot',
    calls: 0,
    lasts: true,
  },
}

const deleting = testsOf('snapshotter', 'failed deletion')

for (const [what, { group, empty, fault, message, calls, lasts, secret }] of Object.entries(DELETIONS)) {
  deleting(`reports ${what}, and tries again`, async (t) => {
    await installCrds(t)
    await (group ? createGroupClass(t) : createClass(t))
    const at = await scene(t, {
      args: ['--retry-interval-start=100ms', '--retry-interval-max=200ms'],
      prepare: (driver) => {
        if (empty) driver.on('CreateVolumeGroupSnapshot', { reply: { groupSnapshot: EMPTY_GROUP } })
      },
    })
    const resource: Resource<KubeObject> = group ? VOLUME_GROUP_SNAPSHOT_CONTENTS : VOLUME_SNAPSHOT_CONTENTS
    const name = await (group ? createGroup(t) : createContent(t))
    await (group ? groupReady(t, name) : ready(t, name))
    if (secret) await t.api.merge(resource, { name }, { metadata: secretOf(group ? GROUP : SNAPSHOT, 'none') })
    fault(at)
    await remove(t, name, resource)
    if (lasts) await at.snapshotter.line(`] could not sync ${group ? 'group snapshot ' : ''}content "${name}": `, {})
    else await gone(t, name, resource)
    const reason = group ? 'GroupSnapshotDeleteError' : 'SnapshotDeleteError'
    await eventually('the event', async () => (await eventsOf(t, name)).includes(`${reason}: ${message}`))
    equal(new Set(await eventsOf(t, name)), new Set([`${reason}: ${message}`]))
    equal(at.driver.callsOf('DeleteSnapshot', 'DeleteVolumeGroupSnapshot').length, calls)
  })
}

const EMPTY_GROUP = { groupSnapshotId: 'group-1', snapshots: [], creationTime: undefined, readyToUse: true }

deleting('repeats the removal of the finalizer without a second call to the driver', async (t) => {
  await installCrds(t)
  await createClass(t)
  const { driver, snapshotter } = await scene(t, { args: ['--retry-interval-start=100ms'] })
  const name = await createContent(t)
  await ready(t)
  const injection = snapshotter.gate.inject('PATCH volumesnapshotcontents', NOPE, { times: 2 })
  await remove(t, name)
  await gone(t, name)
  equal(injection.count, 2)
  equal(driver.callsOf('DeleteSnapshot').length, 1)
})

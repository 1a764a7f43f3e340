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
  getContent,
  gone,
  groupTaken,
  isMarked,
  joinGroup,
  MEMBER,
  NAME,
  ready,
  remove,
  removed,
  SNAPSHOT,
  type SnapshotterScene,
  scene,
  secretAnnotations,
  snapshot,
  taken,
} from '../../rows/snapshotter/scene.ts'

/** Tests of the error texts in the status of snapshot contents and in events. */

const INTERNAL = { code: 13, message: 'no' }
const NO = 'rpc error: code = Internal desc = no'
const NOPE = refusal(403, 'Forbidden', 'nope')
const ONCE = ['--retry-interval-start=1h', '--retry-interval-max=1h']

type Kind = 'content' | 'given' | 'member' | 'group' | 'given group'

interface Failure {
  /** The kind of object that fails. Default: `content`. */
  readonly of?: Kind
  /** The parameters of the snapshot class. */
  readonly parameters?: Readonly<Record<string, string>>
  readonly noClass?: true
  readonly parts?: (t: TestContext) => ContentParts
  readonly args?: readonly string[]
  /** Injects the fault after the start of the sidecar. */
  readonly begun?: (at: SnapshotterScene) => void
  /** Returns the expected error text, without its beginning in `PHASES`. */
  readonly says: (name: string, className: string) => string
  /** True if the being-created annotation stays, because the driver may still create the snapshot. */
  readonly marked?: true
  /** True if the Go sidecar adds the being-created annotation although it does not call the driver. */
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

/** Creates a snapshot content or a group content of this kind. Returns its name. */
async function createOf(t: TestContext, kind: Kind, parts: ContentParts): Promise<string> {
  if (kind === 'content') return await createContent(t, parts)
  if (kind === 'given') return await createGiven(t, parts)
  if (kind === 'group') return await createGroup(t, parts)
  if (kind === 'given group') return await createGivenGroup(t, parts)
  const { metadata = {}, ...rest } = parts
  const annotations = { ...MEMBER, ...(metadata as { annotations?: object }).annotations }
  const spec = { volumeSnapshotClassName: undefined }
  const name = await createContent(t, { ...rest, metadata: { ...metadata, annotations }, spec })
  await joinGroup(t, name)
  return name
}

const withSecret = (prefix: string, name: string) => (): ContentParts => ({
  metadata: { annotations: secretAnnotations(prefix, name, 'default') },
})

const reserved = (key: string): string => `csi.storage.k8s.io/${key}`
const LIST = reserved('snapshotter-list-secret-name')
const LIST_NAMESPACE = reserved('snapshotter-list-secret-namespace')
const GET = reserved('group-snapshotter-get-secret-name')
const GET_NAMESPACE = reserved('group-snapshotter-get-secret-namespace')
const classNamed = (key: string) => (t: TestContext) => ({ spec: { [key]: t.name('class') } })
const withClass = classNamed('volumeSnapshotClassName')
const withGroupClass = classNamed('volumeGroupSnapshotClassName')
const TEMPLATE = 'failed to get name and namespace template from params'

/** Makes the API server refuse the patch number `nth` of this resource, counted from 0. */
function refuseWrite(resource: string, nth: number): (at: SnapshotterScene) => void {
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

/** Templates of a Secret in the class of a pre-provisioned snapshot, and the reason in the error text. */
const TEMPLATES: readonly (readonly [string, Failure['parameters'], reason: (name: string) => string])[] = [
  [
    'a template without a namespace',
    { [LIST]: 'creds' },
    () => `${TEMPLATE}: either name and namespace for SnapshotterList secrets specified, Both must be specified`,
  ],
  [
    'an empty template',
    { [LIST]: '', [LIST_NAMESPACE]: 'default' },
    () => `${TEMPLATE}: SnapshotterList secrets specified in parameters but value of either namespace or name is empty`,
  ],
  [
    'a template with an unknown token',
    { [LIST]: 'a-$x', [LIST_NAMESPACE]: 'default' },
    () => 'error resolving value "a-$x": invalid tokens: ["x"]',
  ],
  [
    'a template that resolves to no name of a Secret',
    { [LIST]: `A-${NAME}`, [LIST_NAMESPACE]: 'default' },
    (name) => `"A-${NAME}" resolved to "A-${name}" which is not a valid secret name`,
  ],
  [
    'a template that resolves to no namespace',
    { [LIST]: 'creds', [LIST_NAMESPACE]: 'a.b' },
    () => '"a.b" is not a valid namespace name',
  ],
]

const ofTemplate = (parameters: Failure['parameters'] = {}, reason: (name: string) => string): Failure => ({
  of: 'given',
  parameters,
  parts: withClass,
  says: (name) => `failed to get secret reference for snapshot content ${name}: ${reason(name)}`,
})

const FAILURES: Readonly<Record<string, Failure>> = {
  'a failed CreateSnapshot call, with the quoted message of the driver': {
    begun: ({ driver }) => driver.on('CreateSnapshot', { code: 13, message: 'no "way"\n' }),
    says: taking('"rpc error: code = Internal desc = no \\"way\\"\\n"'),
  },
  'a driver that does not answer in time': {
    args: ['--timeout=1s'],
    begun: ({ driver }) => driver.on('CreateSnapshot', 'hang'),
    says: taking('"rpc error: code = DeadlineExceeded desc = context deadline exceeded"'),
    marked: true,
  },
  'a driver that returns no name': {
    begun: ({ driver }) => driver.on('GetPluginInfo', INTERNAL),
    says: taking(`"${NO}"`),
  },
  'a VolumeSnapshot without a uid': {
    parts: () => ({ spec: { volumeSnapshotRef: { namespace: 'default', name: 'snap' } } }),
    says: (name) => taking(`"cannot create snapshot. Snapshot content ${name} not bound to a snapshot"`)(),
    notSent: true,
  },
  'a content without a class': {
    parts: () => ({ spec: { volumeSnapshotClassName: undefined } }),
    says: inputs((name) => `failed to take snapshot ${name} without a snapshot class`),
  },
  'a class that does not exist': {
    noClass: true,
    says: inputs((_, className) => `volumesnapshotclass.snapshot.storage.k8s.io "${className}" not found`),
  },
  'a Secret that does not exist': {
    parts: withSecret(SNAPSHOT, 'none'),
    says: inputs((name) => `cannot get credentials for snapshot content "${name}"`),
  },
  'a Secret without a name': {
    parts: withSecret(SNAPSHOT, ''),
    says: inputs(
      (name) => `cannot retrieve secrets for snapshot content "${name}", err: secret name or namespace not specified`,
    ),
  },
  'a parameter with the reserved prefix': {
    parameters: { [reserved('x')]: 'y' },
    says: () =>
      'failed to remove CSI Parameters of prefixed keys: found unknown parameter key "csi.storage.k8s.io/x" with reserved namespace csi.storage.k8s.io/',
    notSent: true,
  },
  'an annotation that the API server refuses': {
    begun: refuseWrite('volumesnapshotcontents', 0),
    says: (name) => `failed to add VolumeSnapshotBeingCreated annotation on the content ${name}: "${refused(name)}"`,
  },
  'a status that the API server refuses': {
    begun: ({ snapshotter }) => void snapshotter.gate.inject('PATCH volumesnapshotcontents/status', NOPE, { times: 1 }),
    says: (name) => `error updating status for volume snapshot content ${name}: ${refused(name)}`,
    marked: true,
  },
  'a removal of the annotation that the API server refuses after a final error': {
    begun: (at) => {
      at.driver.on('CreateSnapshot', INTERNAL)
      refuseWrite('volumesnapshotcontents', 1)(at)
    },
    says: (name) => `failed to remove VolumeSnapshotBeingCreated annotation from the content ${name}: ${refused(name)}`,
    marked: true,
  },
  'an answer to ListSnapshots without an entry': {
    of: 'given',
    begun: ({ driver }) => driver.on('ListSnapshots', { reply: { entries: [], nextToken: '' } }),
    says: (name) => `failed to list snapshot for content ${name}: "can not find snapshot for snapshotID snap-given"`,
  },
  'a ListSnapshots call that the driver refuses': {
    of: 'given',
    begun: ({ driver }) => driver.on('ListSnapshots', INTERNAL),
    says: (name) => `failed to list snapshot for content ${name}: "${NO}"`,
  },
  'a missing class of a pre-provisioned snapshot': {
    of: 'given',
    noClass: true,
    parts: withClass,
    says: (name, className) =>
      `failed to get snapshot class ${className} for snapshot content ${name}: volumesnapshotclass.snapshot.storage.k8s.io "${className}" not found`,
  },
  ...Object.fromEntries(TEMPLATES.map(([what, parameters, says]) => [what, ofTemplate(parameters, says)])),
  'a missing Secret that a template in the class names': {
    of: 'given',
    parameters: { [LIST]: 'none', [LIST_NAMESPACE]: 'default' },
    parts: withClass,
    says: (name) =>
      `failed to get credentials for snapshot content ${name}: error getting secret none in namespace default: secrets "none" not found`,
  },
  'a missing Secret of a content that is a member of a group': {
    of: 'member',
    // The Go sidecar reads the handle of a group member only at a retry, so this test makes retries fast.
    args: ['--retry-interval-start=100ms', '--retry-interval-max=100ms'],
    parts: withSecret(SNAPSHOT, 'none'),
    says: (name) =>
      `failed to get credentials from annotation for snapshot content ${name}: cannot get credentials for snapshot content "${name}"`,
  },
  'a group that the driver refuses': {
    of: 'group',
    begun: ({ driver }) => driver.on('CreateVolumeGroupSnapshot', INTERNAL),
    says: takingGroup(`"${NO}"`),
  },
  'a driver without group snapshots': {
    of: 'group',
    begun: ({ driver }) => driver.on('CreateVolumeGroupSnapshot', { code: 12, message: 'unknown service' }),
    says: takingGroup('"rpc error: code = Unimplemented desc = unknown service"'),
  },
  'a group that the driver may still create': {
    of: 'group',
    begun: ({ driver }) => driver.on('CreateVolumeGroupSnapshot', { code: 10, message: 'busy' }),
    says: takingGroup('"rpc error: code = Aborted desc = busy"'),
    marked: true,
  },
  'a VolumeGroupSnapshot without a uid': {
    of: 'group',
    parts: () => ({ spec: { volumeGroupSnapshotRef: { namespace: 'default', name: 'group' } } }),
    says: (name) =>
      takingGroup(`"cannot create group snapshot. Group snapshot content ${name} not bound to a group snapshot"`)(),
    notSent: true,
  },
  'a group class that does not exist': {
    of: 'group',
    noClass: true,
    says: groupInputs(
      (_, className) => `volumegroupsnapshotclass.groupsnapshot.storage.k8s.io "${className}" not found`,
    ),
  },
  'a group without a class': {
    of: 'group',
    parts: () => ({ spec: { volumeGroupSnapshotClassName: undefined } }),
    says: groupInputs((name) => `failed to take group snapshot ${name} without a group snapshot class`),
  },
  'a missing Secret of a group': {
    of: 'group',
    parts: withSecret(GROUP, 'none'),
    says: groupInputs((name) => `cannot get credentials for group snapshot content "${name}"`),
  },
  'an annotation of a group that the API server refuses': {
    of: 'group',
    begun: refuseWrite('volumegroupsnapshotcontents', 0),
    says: (name) =>
      `failed to add VolumeGroupSnapshotBeingCreated annotation on the group snapshot content ${name}: "${refused(name)}"`,
  },
  'a status of a group that the API server refuses': {
    of: 'group',
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
  'a missing class of a pre-provisioned group': {
    of: 'given group',
    noClass: true,
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
  'a missing Secret that a template in the group class names': {
    of: 'given group',
    parameters: { [GET]: GROUP_NAME, [GET_NAMESPACE]: 'default' },
    parts: withGroupClass,
    says: (name) =>
      `failed to get credentials for group snapshot content ${name}: error getting secret ${name} in namespace default: secrets "${name}" not found`,
  },
}

const failing = testsOf('snapshotter', 'failure')

for (const [what, { of = 'content', parameters, args = [], says, marked, ...failure }] of Object.entries(FAILURES)) {
  failing(`the status of the snapshot content and an event report ${what}`, async (t) => {
    if (failure.noClass === undefined)
      await (isGroup(of) ? createGroupClass(t, parameters) : createClass(t, parameters))
    const at = await scene(t, { args: [...ONCE, ...args] })
    failure.begun?.(at)
    const name = await createOf(t, of, { what: 'object', ...failure.parts?.(t) })
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
    if (t.ours || failure.notSent === undefined) equal(isMarked(object), marked === true)
    await eventually('the event', async () => (await eventsOf(t, name)).length > 0)
    equal(await eventsOf(t, name), [`${reason}: ${message}`])
  })
}

const CODES = ['Canceled', 'Unknown', 'InvalidArgument', 'DeadlineExceeded', 'NotFound', 'AlreadyExists'].concat(
  ['PermissionDenied', 'ResourceExhausted', 'FailedPrecondition', 'Aborted', 'OutOfRange', 'Unimplemented'],
  ['Internal', 'Unavailable', 'DataLoss', 'Unauthenticated'],
)
const UNCERTAIN = ['Canceled', 'DeadlineExceeded', 'ResourceExhausted', 'Aborted', 'Unavailable']

failing('the being-created annotation stays only if the gRPC code leaves the result open', async (t) => {
  await createClass(t)
  const { driver } = await scene(t, { args: ONCE })
  driver.on('CreateSnapshot', ({ request }) => ({ code: Number(request['source_volume_id']), message: 'no' }))
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

failing('the snapshotter sends the event of a failed creation although it cannot write the status', async (t) => {
  await createClass(t)
  const { driver, snapshotter } = await scene(t, { args: ONCE })
  driver.on('CreateSnapshot', INTERNAL)
  snapshotter.gate.inject('PATCH volumesnapshotcontents/status', NOPE)
  const name = await createContent(t)
  await eventually('the event', async () => (await eventsOf(t, name)).length === 1)
})

failing('the error of a failed creation stays in the status until the snapshot is ready', async (t) => {
  await createClass(t)
  const { driver } = await scene(t, { args: ['--retry-interval-start=200ms', '--retry-interval-max=200ms'] })
  driver.on('CreateSnapshot', (_, nth) => (nth === 0 ? INTERNAL : snapshot({ readyToUse: nth > 3 })))
  await createContent(t)
  await eventually('a snapshot that is not ready', () => driver.callsOf('CreateSnapshot').length >= 3)
  const content = await eventually('its handle', async () => {
    const found = await getContent(t)
    return found?.status?.snapshotHandle === 'snap-1' && found
  })
  if (content.status?.readyToUse === false) ok(content.status.error?.message !== undefined)
  equal((await ready(t)).status?.error, undefined)
})

interface DeletionFailure {
  readonly fault?: (at: SnapshotterScene, group: 'Group' | '') => void
  readonly message: (snapshot: 'group snapshot' | 'snapshot') => string
  /** The expected number of deletion calls. The last call succeeds. With 0, each try fails before the call. */
  readonly calls: number
  readonly secret?: true
}

const DELETIONS: Readonly<Record<string, DeletionFailure>> = {
  'a refusal of the driver': {
    fault: ({ driver }, group) => {
      const codes = [13, 5]
      driver.on(`Delete${group && 'VolumeGroup'}Snapshot`, (_, nth) => {
        const code = codes[nth]
        return code === undefined ? { reply: {} } : { code, message: 'no' }
      })
    },
    message: (snapshot) => `Failed to delete ${snapshot}`,
    calls: 3,
  },
  'a status that cannot be cleared': {
    fault: ({ snapshotter }, group) => {
      const resource = `volume${group.toLowerCase()}snapshotcontents/status`
      snapshotter.gate.inject(`WRITE ${resource}`, NOPE, { times: 1 })
    },
    message: () => 'Failed to clear content status',
    calls: 2,
  },
  'a Secret that does not exist': {
    secret: true,
    message: () => 'Failed to get snapshot credentials',
    calls: 0,
  },
}

const deleting = testsOf('snapshotter', 'failed deletion')
const QUICK = { args: ['--retry-interval-start=100ms', '--retry-interval-max=200ms'] }

/** Waits for the event of a failed deletion. Asserts that there is no other event, and counts the deletion calls. */
async function deletionFailed(t: TestContext, event: string, calls = 0): Promise<void> {
  const name = t.name(event.startsWith('Group') ? 'group' : 'content')
  await eventually('the event', async () => (await eventsOf(t, name)).includes(event))
  equal(new Set(await eventsOf(t, name)), new Set([event]))
  equal(t.drivers[0]?.callsOf('DeleteSnapshot', 'DeleteVolumeGroupSnapshot').length, calls)
}

for (const [what, { fault, message, calls, secret }] of Object.entries(DELETIONS)) {
  for (const group of ['', 'Group'] as const) {
    const snapshot = group ? 'group snapshot' : 'snapshot'

    deleting(`an event reports ${what} during the deletion of a ${snapshot}`, async (t) => {
      const at = await scene(t, QUICK)
      const resource: Resource<KubeObject> = group ? VOLUME_GROUP_SNAPSHOT_CONTENTS : VOLUME_SNAPSHOT_CONTENTS
      const { metadata } = await (group ? groupTaken(t) : taken(t))
      const name = metadata?.name ?? ''
      if (secret) await t.api.merge(resource, { name }, withSecret(group ? GROUP : SNAPSHOT, 'none')())
      fault?.(at, group)
      await remove(t, name, resource)
      if (calls === 0)
        await at.snapshotter.line(`] could not sync ${group ? 'group snapshot ' : ''}content "${name}": `, {})
      else await gone(t, name, resource)
      const event = `${group}SnapshotDeleteError: ${message(snapshot)}`
      await deletionFailed(t, event, calls)
    })
  }
}

const EMPTY_GROUP = { groupSnapshotId: 'group-1', snapshots: [], creationTime: undefined, readyToUse: true }

deleting('the deletion of a group content without snapshot IDs fails with an event', async (t) => {
  const at = await scene(t, { ...QUICK })
  at.driver.on('CreateVolumeGroupSnapshot', { reply: { groupSnapshot: EMPTY_GROUP } })
  await groupTaken(t)
  const name = t.name('group')
  await remove(t, name, VOLUME_GROUP_SNAPSHOT_CONTENTS)
  await at.snapshotter.line('could not sync', {})
  await deletionFailed(t, 'GroupSnapshotDeleteError: Failed to delete group snapshot')
})

deleting('a refused removal of the finalizer is repeated without a second DeleteSnapshot call', async (t) => {
  const { driver, snapshotter } = await scene(t, QUICK)
  await taken(t)
  const injection = snapshotter.gate.inject('PATCH volumesnapshotcontents', NOPE, { times: 2 })
  await removed(t)
  equal(injection.count, 2)
  equal(driver.callsOf('DeleteSnapshot').length, 1)
})

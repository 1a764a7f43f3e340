import { deepStrictEqual as equal, ok } from 'node:assert'
import { EVENTS, VOLUME_SNAPSHOT_CONTENTS } from '@csi-sidecars/kube-types'
import { refusal } from '../../harness/api/gate.ts'
import type { TestContext } from '../../harness/context.ts'
import type { DriverReply } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { failure, refusing, reported, secretCreated } from '../../rows/actions.ts'
import {
  annotated,
  content,
  contentRemoved,
  givenGroup,
  group,
  groupRemoved,
  joined,
  member,
  preProvisioned,
  snapshotterRows,
} from '../../rows/snapshotter/rows.ts'
import {
  type ContentParts,
  createClass,
  createContent,
  described,
  FINALIZER,
  GROUP,
  GROUP_NAME,
  groupSnapshot,
  listed,
  NAME,
  SNAPSHOT,
  scene,
  snapshot,
  snapshotTaken,
  UID,
} from '../../rows/snapshotter/scene.ts'

/** Rows about the requests to the driver, and about the parts of its answers that are stored. */

const row = snapshotterRows('requests', import.meta.filename)
const test = testsOf('snapshotter', 'requests')
const QUICK = ['--retry-interval-start=100ms', '--retry-interval-max=100ms']

const RESERVED = ['snapshotter', 'snapshotter-list', 'group-snapshotter', 'group-snapshotter-get'].flatMap((of) =>
  ['name', 'namespace'].map((key): [string, string] => [`csi.storage.k8s.io/${of}-secret-${key}`, 'x']),
)
row('the snapshotter sends the class parameters to the driver, except the parameters for sidecars', {
  setup: { parameters: { a: 'b', 'c.io/d': '', ...Object.fromEntries(RESERVED) } },
  steps: [content(), group()],
})

const NAMES: readonly (readonly [args: readonly string[], single: string, group: string])[] = [
  [[], `snapshot-${UID}`, `groupsnapshot-${UID}`],
  [['--snapshot-name-uuid-length=0', '--groupsnapshot-name-uuid-length=0'], 'snapshot-', 'groupsnapshot-'],
  [
    ['--snapshot-name-uuid-length=32', '--groupsnapshot-name-prefix=g', '--groupsnapshot-name-uuid-length=8'],
    `snapshot-${UID.replaceAll('-', '')}`,
    'g-00000000',
  ],
  [['--snapshot-name-prefix=p', '--snapshot-name-uuid-length=10'], 'p-0000000011', `groupsnapshot-${UID}`],
]
for (const [args, single, grouped] of NAMES) {
  const flags = args.join(' ') || 'the default flags'
  row(`with ${flags} snapshots are named ${single} and group snapshots ${grouped}`, {
    setup: { args },
    steps: [content(), group()],
  })
}

row(
  'with --extra-create-metadata the snapshotter sends the names of the VolumeSnapshot and its VolumeSnapshotContent',
  { setup: { args: ['--extra-create-metadata'] }, steps: [content(), group()] },
)

test('the snapshotter calls GetPluginInfo before a creation, and both calls have the time limit --timeout', async (t) => {
  const { driver } = await scene(t, { args: ['--timeout=20s'] })
  const before = driver.calls.length
  await snapshotTaken(t)
  const calls = driver.calls.slice(before).filter(({ method }) => method !== 'Probe')
  equal(calls.filter(({ method }) => method === 'GetPluginInfo').length, 1)
  for (const { method, timeoutMs } of calls) ok(timeoutMs > 10_000 && timeoutMs <= 20_000, `${method} ${timeoutMs}`)
})

row('CreateSnapshot and DeleteSnapshot get the Secret that the annotations of a VolumeSnapshotContent name', {
  steps: [
    secretCreated({ user: 'me', password: 'pw' }),
    content(annotated(SNAPSHOT)),
    group(annotated(GROUP)),
    contentRemoved(),
    groupRemoved,
  ],
})

/** The annotation with the name or with the namespace of a Secret. */
const half = (prefix: string, key: string): ContentParts => ({
  metadata: { annotations: { [`${prefix.slice(0, prefix.indexOf('/'))}/deletion-secret-${key}`]: 'default' } },
})
row('the snapshotter sends no Secret if the annotation with the name or namespace of the Secret is missing', {
  steps: [content(half(SNAPSHOT, 'name')), group(half(GROUP, 'namespace'))],
})

const secretOf = (purpose: string, name: string): Readonly<Record<string, string>> => ({
  [`csi.storage.k8s.io/${purpose}-secret-name`]: name,
  [`csi.storage.k8s.io/${purpose}-secret-namespace`]: 'default',
})
row('ListSnapshots and GetVolumeGroupSnapshot get the Secret whose name the class gives as a template', {
  setup: { parameters: { ...secretOf('snapshotter-list', NAME), ...secretOf('group-snapshotter-get', GROUP_NAME) } },
  steps: [
    secretCreated({ of: 'one' }, 'content'),
    secretCreated({ of: 'group' }, 'group'),
    preProvisioned((t: TestContext) => ({ spec: { volumeSnapshotClassName: t.name('class') } })),
    givenGroup((t: TestContext) => ({ spec: { volumeGroupSnapshotClassName: t.name('class') } })),
  ],
})

const STORED: Readonly<Record<string, readonly DriverReply[]>> = {
  'creationTime 0 and no restoreSize if the driver returns neither time nor size': [
    snapshot({ creationTime: undefined, sizeBytes: 0n }),
  ],
  'an empty handle if the driver returns no snapshot ID': [snapshot({ snapshotId: '' })],
  'no handle of a group if CreateSnapshot returns one': [snapshot({ groupSnapshotId: 'group-1' })],
  'the lowest 64 bits of a time whose nanoseconds exceed 64 bits': [
    snapshot({ creationTime: { seconds: 253_402_300_799n, nanos: 0 } }),
  ],
  'the handle and time of the first answer, and a size that a later answer returns': [
    snapshot({ readyToUse: false, sizeBytes: 0n }),
    snapshot({ snapshotId: 'other', sizeBytes: 7n, creationTime: { seconds: 1n, nanos: 0 } }),
  ],
}
for (const [label, answers] of Object.entries(STORED)) {
  row(`the status of a VolumeSnapshotContent has ${label}`, {
    setup: { args: QUICK, answers: { CreateSnapshot: answers } },
    steps: [content()],
  })
}

row('a pre-provisioned snapshot is ready at once if the driver lacks LIST_SNAPSHOTS', {
  setup: { controller: ['CREATE_DELETE_SNAPSHOT'] },
  steps: [preProvisioned()],
})
const ENTRIES = [described({ snapshotId: 'x', groupSnapshotId: 'g-1', sizeBytes: 5n }), described({ sizeBytes: 6n })]
row('the first entry of ListSnapshots determines the status of a pre-provisioned snapshot, but not its handle', {
  setup: {
    answers: {
      ListSnapshots: [{ reply: { entries: ENTRIES.map((each) => ({ snapshot: each })), nextToken: 'more' } }],
    },
  },
  steps: [preProvisioned({ spec: { volumeSnapshotRef: { namespace: 'default', name: 'snap' } } })],
})
row('the snapshotter calls ListSnapshots until a pre-provisioned snapshot is ready', {
  setup: {
    args: QUICK,
    answers: { ListSnapshots: [listed({ readyToUse: false }), listed({ readyToUse: false }), listed()] },
  },
  steps: [preProvisioned()],
})

const MEMBERS = [
  described({ snapshotId: 's-2', sourceVolumeId: 'vol-2', sizeBytes: 0n, readyToUse: false }),
  described({ snapshotId: 's-1', sourceVolumeId: 'vol-1' }),
]
row('the status of a group snapshot lists the snapshots in the order of the driver', {
  setup: {
    args: QUICK,
    answers: {
      CreateVolumeGroupSnapshot: [
        groupSnapshot({ snapshots: MEMBERS, readyToUse: false }),
        groupSnapshot({ groupSnapshotId: 'other' }),
      ],
    },
  },
  steps: [group()],
})
row('creationTime of a VolumeGroupSnapshotContent is 1970 if the driver returns no time', {
  setup: { answers: { CreateVolumeGroupSnapshot: [groupSnapshot({ creationTime: undefined })] } },
  steps: [group()],
})
row('the snapshotter checks and deletes a pre-provisioned group snapshot with the handles in the spec', {
  steps: [givenGroup(), groupRemoved],
})
row('ListSnapshots for a group member waits until the snapshot-controller has written the handles', {
  setup: { answers: { ListSnapshots: [listed({ snapshotId: 'snap-m' })] } },
  steps: [secretCreated({ user: 'me' }), member(annotated(SNAPSHOT)), joined, contentRemoved()],
})
row('the writes of the snapshotter keep annotations, finalizers and errors of other writers', {
  steps: [
    preProvisioned({ metadata: { annotations: { mine: 'yes' }, finalizers: ['example.com/mine', FINALIZER] } }),
    reported(VOLUME_SNAPSHOT_CONTENTS, 'content', { error: { message: 'theirs' } }),
    contentRemoved(),
  ],
})
row('the snapshotter creates snapshots although the API server forbids its events', {
  setup: { args: QUICK, answers: { CreateSnapshot: [failure(13), failure(13), snapshot()] } },
  steps: [[refusing('WRITE events', refusal(403, 'Forbidden', 'no events')), content()]],
})

test('events of the snapshotter contain the name of the driver in their source', async (t) => {
  await createClass(t)
  const { driver } = await scene(t, { args: ['--retry-interval-start=1h', '--retry-interval-max=1h'] })
  driver.on('CreateSnapshot', { code: 3, message: 'no' })
  const name = await createContent(t)
  const event = await eventually('the event', async () =>
    (await t.api.list(EVENTS, 'default')).find(({ involvedObject }) => involvedObject.name === name),
  )
  const component = `csi-snapshotter ${t.driverName}`
  equal([event.type, event.count], ['Warning', 1])
  equal([event.source?.component, event.reportingComponent], [component, component])
  const { kind, apiVersion, uid } = event.involvedObject
  const object = await t.api.find(VOLUME_SNAPSHOT_CONTENTS, { name })
  equal([kind, apiVersion, uid], ['VolumeSnapshotContent', 'snapshot.storage.k8s.io/v1', object?.metadata?.uid])
})

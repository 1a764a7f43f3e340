import { VOLUME_GROUP_SNAPSHOT_CONTENTS, VOLUME_SNAPSHOT_CONTENTS } from '@csi-sidecars/kube-types'
import { refusal } from '../../harness/api/gate.ts'
import type { TestContext } from '../../harness/context.ts'
import { answering, failure, merged, OK, refusing } from '../../rows/actions.ts'
import type { Action, Step } from '../../rows/row.ts'
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
  type RowScene,
  snapshotterRows,
} from '../../rows/snapshotter/rows.ts'
import { type ContentParts, GROUP, GROUP_NAME, NAME, SNAPSHOT, snapshot } from '../../rows/snapshotter/scene.ts'

/** Rows about the error texts in the status of snapshot contents and in events. */

const NOPE = refusal(403, 'Forbidden', 'nope')
const ONCE = { args: ['--retry-interval-start=1h', '--retry-interval-max=1h'] }
const QUICK = { args: ['--retry-interval-start=100ms', '--retry-interval-max=200ms'] }

const reserved = (key: string): string => `csi.storage.k8s.io/${key}`
const list = (name: string, namespace?: string): object => ({
  parameters: {
    [reserved('snapshotter-list-secret-name')]: name,
    ...(namespace !== undefined && { [reserved('snapshotter-list-secret-namespace')]: namespace }),
  },
})
const GET = reserved('group-snapshotter-get-secret-name')
const GET_NAMESPACE = reserved('group-snapshotter-get-secret-namespace')

const classNamed =
  (key: string) =>
  (t: TestContext): ContentParts => ({ spec: { [key]: t.name('class') } })
const givenOfClass = preProvisioned(classNamed('volumeSnapshotClassName'))
const givenGroupOfClass = givenGroup(classNamed('volumeGroupSnapshotClassName'))
const NO_HANDLES = { volumeGroupSnapshotHandle: 'group-1', volumeSnapshotHandles: [] }

/** Makes the API server refuse the second patch of a content, which removes the annotation. */
const unmarkRefused = refusing('PATCH volumesnapshotcontents', NOPE, { times: 1, after: 1 })

interface FailureRow {
  readonly differs?: readonly ['annotated-before-call']
  readonly setup?: object
  readonly steps: readonly Step<RowScene>[]
}

/** The setup and the steps of each failure. */
const FAILURES: Readonly<Record<string, FailureRow>> = {
  'a failed CreateSnapshot call, with the quoted message of the driver': {
    setup: { answers: { CreateSnapshot: [failure(13, 'no "way"\n')] } },
    steps: [content()],
  },
  'a driver that does not answer in time': {
    setup: { args: [...ONCE.args, '--timeout=1s'], answers: { CreateSnapshot: ['hang'] } },
    steps: [content()],
  },
  'a driver that returns no name': {
    differs: ['annotated-before-call'],
    steps: [[answering({ GetPluginInfo: [failure(13)] }), content()]],
  },
  'a VolumeSnapshot without a uid': {
    differs: ['annotated-before-call'],
    steps: [content({ spec: { volumeSnapshotRef: { namespace: 'default', name: 'snap' } } })],
  },
  'a content without a class': { steps: [content({ spec: { volumeSnapshotClassName: undefined } })] },
  'a class that does not exist': { setup: { noClass: true }, steps: [content()] },
  'a Secret that does not exist': { steps: [content(annotated(SNAPSHOT))] },
  'a Secret without a name': { steps: [content(annotated(SNAPSHOT, ''))] },
  'a parameter with the reserved prefix': {
    differs: ['annotated-before-call'],
    setup: { parameters: { [reserved('x')]: 'y' } },
    steps: [content()],
  },
  'an annotation that the API server refuses': {
    steps: [[refusing('PATCH volumesnapshotcontents', NOPE, { times: 1 }), content()]],
  },
  'a status that the API server refuses': {
    steps: [[refusing('PATCH volumesnapshotcontents/status', NOPE, { times: 1 }), content()]],
  },
  'a removal of the annotation that the API server refuses after a final error': {
    setup: { answers: { CreateSnapshot: [failure(13)] } },
    steps: [[unmarkRefused, content()]],
  },
  'an answer to ListSnapshots without an entry': {
    setup: { answers: { ListSnapshots: [{ reply: { entries: [], nextToken: '' } }] } },
    steps: [preProvisioned()],
  },
  'a ListSnapshots call that the driver refuses': {
    setup: { answers: { ListSnapshots: [failure(13)] } },
    steps: [preProvisioned()],
  },
  'a missing class of a pre-provisioned snapshot': { setup: { noClass: true }, steps: [givenOfClass] },
  'a template without a namespace': { setup: list('creds'), steps: [givenOfClass] },
  'an empty template': { setup: list('', 'default'), steps: [givenOfClass] },
  'a template with an unknown token': { setup: list('a-$x', 'default'), steps: [givenOfClass] },
  'a template that resolves to no name of a Secret': { setup: list(`A-${NAME}`, 'default'), steps: [givenOfClass] },
  'a template that resolves to no namespace': { setup: list('creds', 'a.b'), steps: [givenOfClass] },
  'a missing Secret that a template in the class names': { setup: list('none', 'default'), steps: [givenOfClass] },
  // The Go sidecar reads the handle of a group member only at a retry.
  'a missing Secret of a content that is a member of a group': {
    setup: QUICK,
    steps: [[member(annotated(SNAPSHOT)), joined]],
  },
  'a group that the driver refuses': {
    setup: { answers: { CreateVolumeGroupSnapshot: [failure(13)] } },
    steps: [group()],
  },
  'a driver without group snapshots': {
    setup: { answers: { CreateVolumeGroupSnapshot: [failure(12, 'unknown service')] } },
    steps: [group()],
  },
  'a group that the driver may still create': {
    setup: { answers: { CreateVolumeGroupSnapshot: [failure(10, 'busy')] } },
    steps: [group()],
  },
  'a VolumeGroupSnapshot without a uid': {
    differs: ['annotated-before-call'],
    steps: [group({ spec: { volumeGroupSnapshotRef: { namespace: 'default', name: 'group' } } })],
  },
  'a group class that does not exist': { setup: { noClass: true }, steps: [group()] },
  'a group without a class': { steps: [group({ spec: { volumeGroupSnapshotClassName: undefined } })] },
  'a missing Secret of a group': { steps: [group(annotated(GROUP))] },
  'an annotation of a group that the API server refuses': {
    steps: [[refusing('PATCH volumegroupsnapshotcontents', NOPE, { times: 1 }), group()]],
  },
  'a status of a group that the API server refuses': {
    steps: [[refusing('WRITE volumegroupsnapshotcontents/status', NOPE, { times: 1 }), group()]],
  },
  'a pre-provisioned group that the driver refuses': {
    setup: { answers: { GetVolumeGroupSnapshot: [failure(13)] } },
    steps: [givenGroup()],
  },
  'a pre-provisioned group without handles of snapshots': {
    steps: [givenGroup({ spec: { source: { groupSnapshotHandles: NO_HANDLES } } })],
  },
  'a missing class of a pre-provisioned group': { setup: { noClass: true }, steps: [givenGroupOfClass] },
  'a template of a group without a namespace': {
    setup: { parameters: { [GET]: 'creds' } },
    steps: [givenGroupOfClass],
  },
  'a missing Secret that a template in the group class names': {
    setup: { parameters: { [GET]: GROUP_NAME, [GET_NAMESPACE]: 'default' } },
    steps: [givenGroupOfClass],
  },
}

const failing = snapshotterRows('failure', import.meta.filename)

for (const [label, { setup, ...row }] of Object.entries(FAILURES)) {
  failing(`the status of the snapshot content and an event report ${label}`, {
    ...row,
    setup: { ...ONCE, ...setup },
  })
}

const CODES = Array.from({ length: 16 }, (_, index) => index + 1)
failing('the being-created annotation stays only if the gRPC code leaves the result open', {
  setup: ONCE,
  steps: [
    ...CODES.map((code) => [answering({ CreateSnapshot: [failure(code)] }), content({ suffix: `code-${code}` })]),
  ],
})
failing('the snapshotter sends the event of a failed creation although it cannot write the status', {
  setup: { ...ONCE, answers: { CreateSnapshot: [failure(13)] } },
  steps: [[refusing('PATCH volumesnapshotcontents/status', NOPE), content()]],
})
failing('the error of a failed creation stays in the status until the snapshot is ready', {
  setup: { ...QUICK, answers: { CreateSnapshot: [failure(13), snapshot({ readyToUse: false }), snapshot()] } },
  steps: [content()],
})

const deleting = snapshotterRows('failed deletion', import.meta.filename)

for (const [kind, create, remove, resource, plural] of [
  ['snapshot', content(), contentRemoved(), VOLUME_SNAPSHOT_CONTENTS, 'volumesnapshotcontents'],
  ['group snapshot', group(), groupRemoved, VOLUME_GROUP_SNAPSHOT_CONTENTS, 'volumegroupsnapshotcontents'],
] as const) {
  const answers = [failure(13), failure(5), OK]
  deleting(`an event reports a refusal of the driver during the deletion of a ${kind}`, {
    setup: { ...QUICK, answers: { DeleteSnapshot: answers, DeleteVolumeGroupSnapshot: answers } },
    steps: [create, remove],
  })
  deleting(`an event reports a status that cannot be cleared during the deletion of a ${kind}`, {
    setup: QUICK,
    steps: [create, [refusing(`WRITE ${plural}/status`, NOPE, { times: 1 }), remove]],
  })
  const secret: Action<unknown> = merged(
    resource,
    kind === 'snapshot' ? 'content' : 'group',
    annotated(kind === 'snapshot' ? SNAPSHOT : GROUP),
  )
  deleting(`an event reports a Secret that does not exist during the deletion of a ${kind}`, {
    logs: [`could not sync ${kind === 'snapshot' ? '' : 'group snapshot '}content "`],
    setup: QUICK,
    steps: [create, secret, remove],
  })
}

const EMPTY_GROUP = { groupSnapshotId: 'group-1', snapshots: [], creationTime: undefined, readyToUse: true }
deleting('the deletion of a group content without snapshot IDs fails with an event', {
  setup: { ...QUICK, answers: { CreateVolumeGroupSnapshot: [{ reply: { groupSnapshot: EMPTY_GROUP } }] } },
  steps: [group(), groupRemoved],
})
deleting('a refused removal of the finalizer is repeated without a second DeleteSnapshot call', {
  setup: { ...QUICK, answers: { DeleteSnapshot: [OK, failure(5, 'it is repeated')] } },
  steps: [
    content(),
    [refusing('PATCH volumesnapshotcontents', NOPE, { times: 2, containing: 'finalizers' }), contentRemoved()],
  ],
})

import { deepStrictEqual as equal } from 'node:assert'
import { VOLUME_GROUP_SNAPSHOT_CONTENTS, VOLUME_SNAPSHOT_CONTENTS } from '@csi-sidecars/kube-types'
import { testsOf } from '../../harness/test.ts'
import { deleted, failure, merged, reported, waiting } from '../../rows/actions.ts'
import {
  content,
  contentRemoved,
  group,
  preProvisioned,
  snapshotterRows,
  started,
} from '../../rows/snapshotter/rows.ts'
import {
  createClass,
  createContent,
  createGroup,
  createGroupClass,
  FINALIZER,
  groupReady,
  ready,
  SNAPSHOT,
  scene,
  UID,
} from '../../rows/snapshotter/scene.ts'

/** Rows about the changes that cause a driver call, and about the snapshot contents that the snapshotter processes. */

const row = snapshotterRows('triggers', import.meta.filename)
const NEVER = ['--retry-interval-start=1h', '--retry-interval-max=1h']
const FAILS = { args: NEVER, answers: { CreateSnapshot: [failure(13)] } }
const BEING_CREATED = { [`${SNAPSHOT}-being-created`]: 'yes' }

const CHANGES: Readonly<Record<string, readonly [patch: object, works: boolean]>> = {
  'a label': [{ metadata: { labels: { a: 'b' } } }, true],
  'an annotation': [{ metadata: { annotations: { a: 'b' } } }, true],
  'an owner': [{ metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: UID }] } }, true],
  'the policy': [{ spec: { deletionPolicy: 'Retain' } }, true],
  'a finalizer': [{ metadata: { finalizers: [FINALIZER, 'example.com/mine'] } }, false],
  'the being-created annotation': [{ metadata: { annotations: BEING_CREATED } }, false],
}
for (const [label, [patch, works]] of Object.entries(CHANGES)) {
  row(`a change of ${label} causes ${works ? 'an immediate retry' : 'no retry'} of a failed creation`, {
    setup: FAILS,
    steps: [content(), merged(VOLUME_SNAPSHOT_CONTENTS, 'content', patch)],
  })
}
row('a change of the status causes no retry of a failed creation', {
  setup: FAILS,
  steps: [content(), reported(VOLUME_SNAPSHOT_CONTENTS, 'content', { error: { message: 'theirs' } })],
})
row('the snapshotter retries CreateSnapshot for a deleted VolumeSnapshotContent without the being-deleted annotation', {
  setup: FAILS,
  steps: [content(), deleted(VOLUME_SNAPSHOT_CONTENTS, 'content')],
})
row('the snapshotter removes a left-over being-created annotation from a VolumeSnapshotContent that is ready', {
  setup: { startsLater: true },
  steps: [
    preProvisioned({ metadata: { annotations: { ...BEING_CREATED, a: 'b' } } }),
    reported(VOLUME_SNAPSHOT_CONTENTS, 'content', { readyToUse: true, snapshotHandle: 'snap-given' }),
    started,
  ],
})
row('the snapshotter ignores VolumeSnapshotContents with a class of another driver', {
  setup: { foreignClass: true },
  steps: [
    content(),
    group(),
    reported(VOLUME_SNAPSHOT_CONTENTS, 'content', { readyToUse: true, snapshotHandle: 'snap-1' }),
    contentRemoved(),
    merged(VOLUME_GROUP_SNAPSHOT_CONTENTS, 'group', { metadata: { labels: { a: 'b' } } }),
  ],
})
row('the snapshotter calls DeleteSnapshot for a deleted VolumeSnapshotContent although its class is missing', {
  setup: { startsLater: true, noClass: true },
  steps: [
    content(),
    reported(VOLUME_SNAPSHOT_CONTENTS, 'content', { readyToUse: true, snapshotHandle: 'snap-1' }),
    started,
    contentRemoved(),
  ],
})

const RELEASED: Readonly<Record<string, readonly [spec: object, status: object]>> = {
  'a retained snapshot': [{ deletionPolicy: 'Retain' }, { readyToUse: true, snapshotHandle: 'snap-1' }],
  'a member of a group': [{}, { readyToUse: true, snapshotHandle: 'snap-1', volumeGroupSnapshotHandle: 'group-1' }],
  'a snapshot that was never created': [{}, { readyToUse: false, error: { message: 'no' } }],
}
for (const [label, [spec, status]] of Object.entries(RELEASED)) {
  row(`a deleted VolumeSnapshotContent of ${label} loses its finalizer without a driver call`, {
    setup: { startsLater: true, noClass: true },
    steps: [content({ spec }), reported(VOLUME_SNAPSHOT_CONTENTS, 'content', status), contentRemoved(), started],
  })
}

row('the snapshotter retries a failed creation at each resync, before the back-off ends', {
  setup: { ...FAILS, args: [...NEVER, '--resync-period=2s'] },
  steps: [content(), waiting],
})

const test = testsOf('snapshotter', 'triggers')

test('with --node-deployment the snapshotter lists and processes only VolumeSnapshotContents with the label of its node', async (t) => {
  const node = t.name('node')
  const label = (value: string): object => ({ labels: { 'snapshot.storage.kubernetes.io/managed-by': value } })
  await createClass(t)
  await createGroupClass(t, {}, label(node))
  const { driver, snapshotter } = await scene(t, { args: ['--node-deployment'], env: { NODE_NAME: node } })
  const selectors = (plural: string): ReadonlySet<string | undefined> =>
    new Set(
      snapshotter.gate
        .requestsOf(plural)
        .flatMap(({ query }) => (query['limit'] === '1' ? [] : query['labelSelector'])),
    )
  const selector = `snapshot.storage.kubernetes.io/managed-by=${node}`
  equal(selectors('volumesnapshotcontents'), new Set([selector]))
  equal(selectors('volumegroupsnapshotcontents'), new Set([selector]))
  equal(selectors('volumesnapshotclasses'), new Set([undefined]))
  const name = await createContent(t, { metadata: label('') })
  const group = await createGroup(t, { metadata: label(node) })
  await groupReady(t, group)
  equal(driver.callsOf('CreateSnapshot').length, 0)
  await t.api.merge(VOLUME_SNAPSHOT_CONTENTS, { name }, { metadata: label(node) })
  await ready(t)
  equal(driver.callsOf('CreateSnapshot').length, 1)
})

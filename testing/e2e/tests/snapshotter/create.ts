import { deepStrictEqual as equal } from 'node:assert'
import { VOLUME_SNAPSHOT_CONTENTS } from '@csi-sidecars/kube-types'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { answering, called, deleted, failure, killed, merged } from '../../rows/actions.ts'
import { content, contentRemoved, preProvisioned, snapshotterRows, started } from '../../rows/snapshotter/rows.ts'
import { createClass, createContent, gone, remove, scene, snapshot, UID } from '../../rows/snapshotter/scene.ts'

const QUICK = { args: ['--retry-interval-start=100ms', '--retry-interval-max=100ms'] }
const RETAIN = { spec: { deletionPolicy: 'Retain' } }
const ours = { only: 'ours' } as const

const row = snapshotterRows('create', import.meta.filename)

row('a CreateSnapshot call that fails again and again causes two errors in the status and two events', {
  setup: { ...QUICK, answers: { CreateSnapshot: [failure(13), failure(13), failure(13), snapshot()] } },
  steps: [content()],
})
row('the snapshotter ignores VolumeSnapshotContents of other drivers', {
  steps: [content({ spec: { driver: 'other.example.com' } })],
})
row('a restarted snapshotter makes no call and no write for a snapshot that is ready', {
  steps: [content(), killed, started],
})
row('after the snapshotter is killed during CreateSnapshot, the next process repeats the call with the same name', {
  setup: { answers: { CreateSnapshot: ['hang', snapshot()] } },
  steps: [content(), killed, started],
})

testsOf('snapshotter', 'create')('a CreateSnapshot call that always fails causes only two status writes', async (t) => {
  await createClass(t)
  const { driver, snapshotter } = await scene(t, QUICK)
  driver.on('CreateSnapshot', { code: 13, message: 'no' })
  await createContent(t)
  await eventually('six calls', () => driver.callsOf('CreateSnapshot').length >= 6)
  equal(snapshotter.gate.writes('volumesnapshotcontents/status').length, 2)
})

const deletion = snapshotterRows('delete', import.meta.filename)

deletion('a deleted snapshot content keeps its finalizer until DeleteSnapshot has succeeded', {
  steps: [content(), contentRemoved()],
})
deletion('the snapshotter does not call DeleteSnapshot for a snapshot content with the policy Retain', {
  steps: [content(RETAIN), contentRemoved()],
})
deletion('DeleteSnapshot of an unbound pre-provisioned snapshot needs no being-deleted annotation', {
  setup: { controller: ['CREATE_DELETE_SNAPSHOT'] },
  steps: [
    preProvisioned({ spec: { volumeSnapshotRef: { namespace: 'default', name: 'snap' } } }),
    deleted(VOLUME_SNAPSHOT_CONTENTS, 'content'),
  ],
})
deletion('no snapshot is left if its content object is deleted during CreateSnapshot', {
  ...ours,
  setup: { answers: { CreateSnapshot: [snapshot({}, { after: 1_500 })] } },
  steps: [[content(), called('CreateSnapshot'), contentRemoved()]],
})
deletion('a snapshot whose content object disappears during CreateSnapshot is deleted', {
  ...ours,
  setup: { answers: { CreateSnapshot: [snapshot({}, { after: 1_500 })] } },
  steps: [
    [
      content(),
      called('CreateSnapshot'),
      merged(VOLUME_SNAPSHOT_CONTENTS, 'content', { metadata: { finalizers: null } }),
      deleted(VOLUME_SNAPSHOT_CONTENTS, 'content'),
    ],
  ],
})
deletion('a failed DeleteSnapshot is not repeated if one write sets Retain and removes the finalizers', {
  ...ours,
  logs: ['that is gone may stay in the back end'],
  setup: { args: ['--retry-interval-start=1m'], answers: { DeleteSnapshot: [failure(13)] } },
  steps: [
    content(),
    contentRemoved(),
    merged(VOLUME_SNAPSHOT_CONTENTS, 'content', { ...RETAIN, metadata: { finalizers: null } }),
  ],
})

const COPY = { namespace: 'default', name: 'copy', uid: `${UID}2` }
deletion('a snapshot of two contents is deleted with the last of them', {
  ...ours,
  steps: [
    content(),
    preProvisioned({ suffix: 'copy', spec: { source: { snapshotHandle: 'snap-1' }, volumeSnapshotRef: COPY } }),
    contentRemoved(),
    contentRemoved('copy'),
  ],
})
deletion('a deleted VolumeSnapshotContent stays until CreateSnapshot returns a final code', {
  differs: ['retry-when-cause-is-gone'],
  setup: {
    args: ['--retry-interval-start=1h', '--retry-interval-max=1h'],
    answers: { CreateSnapshot: [failure(10, 'pending')] },
  },
  steps: [
    content(),
    contentRemoved(),
    [
      answering({ CreateSnapshot: [failure(3)] }),
      merged(VOLUME_SNAPSHOT_CONTENTS, 'content', { metadata: { labels: { touched: 'yes' } } }),
    ],
  ],
})

const lifelike = testsOf('snapshotter', 'delete', ours)

lifelike('the policy Retain keeps the snapshot although the watch has not delivered it yet', async (t) => {
  await createClass(t)
  const { driver, snapshotter } = await scene(t, { args: ['--retry-interval-start=1s'] })
  const name = await createContent(t)
  await t.api.until(VOLUME_SNAPSHOT_CONTENTS, { name }, ({ status }) => status?.readyToUse)
  driver.on('DeleteSnapshot', { code: 13, message: 'no' })
  await remove(t)
  await eventually('the call', () => driver.callsOf('DeleteSnapshot').length === 1)
  driver.on('DeleteSnapshot', { reply: {} })
  const deliver = snapshotter.gate.holdWatches('volumesnapshotcontents')
  await t.api.merge(VOLUME_SNAPSHOT_CONTENTS, { name: t.name('content') }, RETAIN)
  await gone(t)
  deliver()
  equal(driver.callsOf('DeleteSnapshot').length, 1)
})

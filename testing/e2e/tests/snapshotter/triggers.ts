import { deepStrictEqual as equal } from 'node:assert'
import { VOLUME_GROUP_SNAPSHOT_CONTENTS, VOLUME_SNAPSHOT_CONTENTS } from '@csi-sidecars/kube-types'
import type { TestContext } from '../../harness/context.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, pause } from '../../harness/waiting.ts'
import {
  createClass,
  createContent,
  createGiven,
  createGroup,
  createGroupClass,
  eventsOf,
  FINALIZER,
  gone,
  groupReady,
  isMarked,
  ready,
  remove,
  removed,
  SNAPSHOT,
  type SnapshotterScene,
  scene,
  setStatus,
  snapshotCalls,
  UID,
} from '../../rows/snapshotter/scene.ts'

/** Tests of the changes that cause a driver call, and of the snapshot contents that the snapshotter processes. */

const test = testsOf('snapshotter', 'triggers')
const NEVER = ['--retry-interval-start=1h', '--retry-interval-max=1h']
const REFUSED = { code: 13, message: 'no' }
const STILL_MS = 700

/** Creates a VolumeSnapshotContent whose CreateSnapshot call has failed. The next retry is an hour later. */
async function failing(
  t: TestContext,
  args: readonly string[] = NEVER,
): Promise<SnapshotterScene & { readonly name: string }> {
  await createClass(t)
  const at = await scene(t, { args })
  at.driver.on('CreateSnapshot', REFUSED)
  const name = await createContent(t)
  await eventually('the event', async () => (await eventsOf(t, name)).length === 1)
  return { ...at, name }
}

const CHANGES: Readonly<Record<string, readonly [patch: object, works: boolean, subresource?: 'status']>> = {
  'a label': [{ metadata: { labels: { a: 'b' } } }, true],
  'an annotation': [{ metadata: { annotations: { a: 'b' } } }, true],
  'an owner': [{ metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: UID }] } }, true],
  'the policy': [{ spec: { deletionPolicy: 'Retain' } }, true],
  'a finalizer': [{ metadata: { finalizers: [FINALIZER, 'example.com/mine'] } }, false],
  'the status': [{ status: { error: { message: 'theirs' } } }, false, 'status'],
  'the being-created annotation': [{ metadata: { annotations: { [`${SNAPSHOT}-being-created`]: 'yes' } } }, false],
}

for (const [what, [patch, works, subresource]] of Object.entries(CHANGES)) {
  test(`a change of ${what} causes ${works ? 'an immediate retry' : 'no retry'} of a failed creation`, async (t) => {
    const { driver, name } = await failing(t)
    await t.api.merge(VOLUME_SNAPSHOT_CONTENTS, { name, ...(subresource && { subresource }) }, patch)
    if (works) await eventually('a second call', () => driver.callsOf('CreateSnapshot').length === 2)
    await pause(STILL_MS)
    equal(driver.callsOf('CreateSnapshot').length, works ? 2 : 1)
  })
}

test('the snapshotter retries a failed creation at each resync, before the back-off ends', async (t) => {
  const { driver } = await failing(t, [...NEVER, '--resync-period=1s'])
  await eventually('a third call', () => driver.callsOf('CreateSnapshot').length >= 3)
})

test('the snapshotter retries CreateSnapshot for a deleted VolumeSnapshotContent without the being-deleted annotation', async (t) => {
  const { driver, name } = await failing(t)
  await t.api.delete(VOLUME_SNAPSHOT_CONTENTS, { name })
  await eventually('a second call', () => driver.callsOf('CreateSnapshot').length === 2)
  equal((await t.api.find(VOLUME_SNAPSHOT_CONTENTS, { name }))?.metadata?.finalizers, [FINALIZER])
})

test('the snapshotter removes a left-over being-created annotation from a VolumeSnapshotContent that is ready', async (t) => {
  const name = await createGiven(t, { metadata: { annotations: { [`${SNAPSHOT}-being-created`]: 'yes', a: 'b' } } })
  await setStatus(t, name, { readyToUse: true, snapshotHandle: 'snap-given' })
  const { driver } = await scene(t)
  const content = await ready(t)
  equal([isMarked(content), content.metadata?.annotations], [false, { a: 'b' }])
  equal(snapshotCalls(driver), [])
})

test('the snapshotter ignores VolumeSnapshotContents with a class of another driver', async (t) => {
  const { driver, snapshotter } = await scene(t)
  await createClass(t, {}, { driver: 'other.example.com' })
  await createGroupClass(t, {}, { driver: 'other.example.com' })
  await pause(STILL_MS)
  const name = await createContent(t)
  const group = await createGroup(t)
  await setStatus(t, name, { readyToUse: true, snapshotHandle: 'snap-1' })
  await remove(t, name)
  await t.api.merge(VOLUME_GROUP_SNAPSHOT_CONTENTS, { name: group }, { metadata: { labels: { a: 'b' } } })
  await pause(STILL_MS)
  equal(snapshotCalls(driver), [])
  equal(snapshotter.gate.writes(), [])
  equal([...(await eventsOf(t, name)), ...(await eventsOf(t, group))], [])
})

test('the snapshotter calls DeleteSnapshot for a deleted VolumeSnapshotContent although its class is missing', async (t) => {
  const name = await createContent(t)
  await setStatus(t, name, { readyToUse: true, snapshotHandle: 'snap-1' })
  const { driver } = await scene(t)
  await removed(t)
  equal(driver.callsOf('DeleteSnapshot').length, 1)
})

const RELEASED: Readonly<Record<string, readonly [spec: object, status: object | undefined]>> = {
  'a retained snapshot': [{ deletionPolicy: 'Retain' }, { readyToUse: true, snapshotHandle: 'snap-1' }],
  'a member of a group': [{}, { readyToUse: true, snapshotHandle: 'snap-1', volumeGroupSnapshotHandle: 'group-1' }],
  'a snapshot that was never created': [{}, { readyToUse: false, error: { message: 'no' } }],
}

for (const [what, [spec, status]] of Object.entries(RELEASED)) {
  test(`a deleted VolumeSnapshotContent of ${what} loses its finalizer without a driver call`, async (t) => {
    const name = await createContent(t, { spec })
    if (status !== undefined) await setStatus(t, name, status)
    await remove(t, name)
    const { driver, snapshotter } = await scene(t)
    await gone(t, name)
    equal(snapshotCalls(driver), [])
    equal(snapshotter.gate.writes().length, 1)
  })
}

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

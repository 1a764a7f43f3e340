import { deepStrictEqual as equal } from 'node:assert'
import { VOLUME_SNAPSHOTS } from '@csi-sidecars/kube-types'
import { FACTS } from '@csi-sidecars/sidecars/facts'
import { userWith } from '../../harness/api/user.ts'
import type { TestContext } from '../../harness/context.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import {
  createClass,
  createContent,
  createVolumeSnapshot,
  failed,
  ready,
  type SnapshotterScene,
  type SnapshotterSetup,
  scene,
  snapshot,
} from '../../rows/snapshotter/scene.ts'

const test = testsOf('snapshotter', 'parameter templates', { only: 'ours' })

const ARGS = ['--parameter-templates']
const optional = `team=\${volumesnapshot.labels['team']|max(8):-none}`
const required = `\${volumesnapshot.annotations['owner']:?set the annotation owner}`

/** Starts the snapshotter with the permissions that the chart adds for templates. */
async function templateScene(
  t: TestContext,
  tag: string,
  { parameters, ...setup }: SnapshotterSetup & { readonly parameters?: Readonly<Record<string, string>> } = {},
): Promise<SnapshotterScene> {
  await createClass(t, { tag, ...parameters })
  const reads = { apiGroups: [VOLUME_SNAPSHOTS.group], resources: [VOLUME_SNAPSHOTS.plural], verbs: ['get'] }
  const user = await userWith(t, [...FACTS.snapshotter.rules, reads])
  return await scene(t, { args: ARGS, user, ...setup })
}

/** Creates a VolumeSnapshot, and its content as the snapshot-controller does. */
async function createBoth(t: TestContext, metadata?: object): Promise<void> {
  const source = { persistentVolumeClaimName: 'data' }
  const { uid } = (await createVolumeSnapshot(t, 'snap', { source, metadata })).metadata ?? {}
  await createContent(t, { spec: { volumeSnapshotRef: { namespace: t.namespace, name: t.name('snap'), uid } } })
}

function edit(t: TestContext, metadata: object): Promise<unknown> {
  return t.api.merge(VOLUME_SNAPSHOTS, { namespace: t.namespace, name: t.name('snap') }, { metadata })
}

test('CreateSnapshot gets names and labels of the VolumeSnapshot in place of the variables of the class', async (t) => {
  const parameters = {
    type: 'ssd',
    of: `\${volumesnapshot.namespace}.\${volumesnapshot.name}`,
    content: `\${volumesnapshotcontent.name}`,
  }
  const { driver } = await templateScene(t, optional, { parameters })
  await createBoth(t, { labels: { team: 'storage-and-more' } })
  const { metadata } = await ready(t)
  equal(driver.fieldsOf('CreateSnapshot', 'parameters'), [
    { type: 'ssd', tag: 'team=storage-', of: `${t.namespace}.${t.name('snap')}`, content: metadata?.name },
  ])
})

test('a VolumeSnapshot without a required annotation gets an error and no snapshot until it has the annotation', async (t) => {
  const { driver } = await templateScene(t, required)
  await createBoth(t)
  await failed(t, /set the annotation owner$/)
  equal(driver.callsOf('CreateSnapshot'), [])
  await edit(t, { annotations: { owner: 'ann' } })
  await ready(t)
  equal(driver.fieldsOf('CreateSnapshot', 'parameters'), [{ tag: 'ann' }])
})

test('a repeated CreateSnapshot call of a killed snapshotter has the earlier value of a changed label', async (t) => {
  const first = await templateScene(t, optional, {
    prepare: (driver) => driver.on('CreateSnapshot', (_, nth) => (nth === 0 ? 'hang' : snapshot())),
  })
  const { driver, snapshotter } = first
  await createBoth(t, { labels: { team: 'first' } })
  await eventually('the call', () => driver.callsOf('CreateSnapshot').length > 0)
  await snapshotter.endBy('SIGKILL')
  await edit(t, { labels: { team: 'second' } })
  await t.sidecar({ app: 'snapshotter', driver, args: ARGS, user: snapshotter.user })
  await ready(t)
  equal(driver.fieldsOf('CreateSnapshot', 'parameters'), [{ tag: 'team=first' }, { tag: 'team=first' }])
})

test('without the permission to read VolumeSnapshots, the error names it and the driver gets no call', async (t) => {
  await createClass(t, { tag: optional })
  const { driver } = await scene(t, { args: ARGS, user: await userWith(t, FACTS.snapshotter.rules) })
  await createBoth(t)
  await failed(t, /volumesnapshots.* is forbidden/)
  equal(driver.callsOf('CreateSnapshot'), [])
})

test('without --parameter-templates the driver gets the text of the snapshot class', async (t) => {
  const { driver } = await templateScene(t, optional, { args: [] })
  await createBoth(t, { labels: { team: 'storage' } })
  await ready(t)
  equal(driver.fieldsOf('CreateSnapshot', 'parameters'), [{ tag: optional }])
})

import { deepStrictEqual as equal } from 'node:assert'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { calls } from '../../rows/provisioner/scene.ts'
import { createClass, createContent, createGiven, listed, scene, snapshot } from '../../rows/snapshotter/scene.ts'
import { nothingUnreferenced, unreferencedPage, unreferencedSeries, untilUnreferenced } from '../unreferenced.ts'

const test = testsOf('snapshotter', 'unreferenced snapshots', { only: 'ours' })

const ARGS = ['--unreferenced-check-interval=100ms']

test('a snapshot that no VolumeSnapshotContent names is counted and listed until an object names it', async (t) => {
  const { driver, snapshotter } = await scene(t, {
    args: ARGS,
    prepare: (each) => each.on('ListSnapshots', listed({ snapshotId: 'forgotten' })),
  })

  const [item] = await untilUnreferenced(snapshotter, 1)
  const { since, ...facts } = item ?? {}
  equal(facts, { kind: 'snapshot', reason: 'NoObject', handle: 'forgotten', sizeBytes: 1024, sourceVolume: 'vol-1' })
  const series = { driver_name: t.driverName, reason: 'NoObject', scope: 'backend' }
  equal(await unreferencedSeries(snapshotter, 'snapshots', series), { count: 1, bytes: 1024 })

  await createGiven(t, { spec: { source: { snapshotHandle: 'forgotten' } } })
  await nothingUnreferenced(snapshotter)
  equal(await unreferencedSeries(snapshotter, 'snapshots', series), { count: 0, bytes: 0 })
  equal(driver.callsOf('DeleteSnapshot'), [])
})

test('the snapshot of a running CreateSnapshot call is undecided until its content has the handle', async (t) => {
  const answered = Promise.withResolvers<void>()
  await createClass(t)
  const { driver, snapshotter } = await scene(t, {
    args: ARGS,
    prepare: (each) => {
      each.on('ListSnapshots', { reply: { entries: [], nextToken: '' } })
      each.on('CreateSnapshot', () => {
        each.on('ListSnapshots', listed())
        return snapshot({}, { after: answered.promise })
      })
    },
  })
  await createContent(t)
  await calls(driver, 'CreateSnapshot')
  const undecided = async (): Promise<number | undefined> =>
    (await unreferencedPage(snapshotter)).searches[0]?.undecided
  await eventually('an undecided snapshot', async () => (await undecided()) === 1)
  await calls(driver, 'ListSnapshots', driver.callsOf('ListSnapshots').length + 4)
  equal((await unreferencedPage(snapshotter)).items, [])

  answered.resolve()
  await eventually('a decision', async () => (await undecided()) === 0)
  equal((await unreferencedPage(snapshotter)).items, [])
})

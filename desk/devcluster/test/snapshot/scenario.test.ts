import { systemClock } from '@csi-sidecars/base'
import { DEFAULT_SETTINGS } from '@csi-sidecars/emulator'
import { VOLUME_SNAPSHOT_CONTENTS, VOLUME_SNAPSHOTS } from '@csi-sidecars/kube-types'
import { expect, it, jest } from '@jest/globals'
import { observe } from '../../src/page/model/observe.ts'
import { StoryScenario } from '../../src/story/scenario.ts'
import { inDefault, startTestCluster } from '../../src/testing/cluster.ts'

jest.setTimeout(30_000)

/** The number of the step that deletes the copies and the snapshot. */
const CLEARED = 7

it('a snapshot is taken and restored, its volume is cloned, and all copies are deleted', async () => {
  const controller = [...DEFAULT_SETTINGS.controller, 'CREATE_DELETE_SNAPSHOT', 'CLONE_VOLUME'] as const
  const substitutes = ['csi-attacher', 'csi-resizer', 'csi-provisioner', 'csi-snapshotter'] as const
  await using test = await startTestCluster({ driver: { controller }, substitutes })
  const { cluster, api, driver } = test
  const scenario = new StoryScenario({ cluster, clock: systemClock, stepMs: 15_000, pauseMs: 0 })
  const live = new AbortController().signal
  expect(await scenario.runTo(CLEARED - 1, live)).toEqual({ kind: 'succeeded' })
  const snapshot = api.get(VOLUME_SNAPSHOTS, inDefault('backup'))
  expect(snapshot?.status).toMatchObject({ readyToUse: true, restoreSize: '2Gi' })
  expect(snapshot?.metadata?.finalizers).toEqual(['snapshot.storage.kubernetes.io/volumesnapshot-bound-protection'])
  const sources = driver.volumes.all.map(({ source }) => source?.of)
  expect(sources).toEqual([undefined, 'snapshot', 'volume'])
  expect(observe('claim/default/data', cluster.caches).snapshots).toMatchObject([{ name: 'backup', readyToUse: true }])

  expect(await scenario.runTo(CLEARED, live)).toEqual({ kind: 'succeeded' })
  expect([api.list(VOLUME_SNAPSHOTS), api.list(VOLUME_SNAPSHOT_CONTENTS)]).toEqual([[], []])
  expect([driver.volumes.snapshots.all.length, driver.volumes.all.length]).toEqual([0, 1])
})

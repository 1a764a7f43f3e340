import { systemClock } from '@csi-sidecars/base'
import { answered } from '@csi-sidecars/disturb/testing/proxied-calls'
import { startApiServer } from '@csi-sidecars/emulator'
import { VOLUME_SNAPSHOT_CONTENTS } from '@csi-sidecars/kube-types'
import { expect, it } from '@jest/globals'
import type { Sighting } from './monitor.ts'
import { type WatchedDriver, watchAll } from './watch.ts'

it('a deletion of a snapshot is reported if its content object is not being deleted', async () => {
  await using api = await startApiServer({ clock: systemClock })
  const content = api.create(VOLUME_SNAPSHOT_CONTENTS, {
    metadata: { name: 'snapcontent-1', finalizers: ['example.com/kept'] },
    spec: {
      driver: 'csi.example.com',
      deletionPolicy: 'Delete',
      source: { volumeHandle: 'vol-1' },
      volumeSnapshotRef: { name: 'snapshot-1', namespace: 'default' },
    },
    status: { snapshotHandle: 'snap-1' },
  })
  const seen: Sighting[] = []
  const listeners: Parameters<WatchedDriver['watchCalls']>[0][] = []
  const watchCalls: WatchedDriver['watchCalls'] = (listener) => {
    listeners.push(listener)
    return () => undefined
  }
  watchAll({ api, driver: { watchCalls, publishedTo: () => [], mountedOn: () => [] } }, (each) => seen.push(each))
  const see = (id: string): void => {
    for (const call of answered('DeleteSnapshot', { snapshotId: id })) for (const each of listeners) each(call)
  }
  see('snap-1')
  see('snap-2')
  api.delete(VOLUME_SNAPSHOT_CONTENTS, { name: content.metadata?.name ?? '' })
  see('snap-1')
  expect(seen).toEqual([{ kind: 'snapshotDeleting', id: 'snap-1', content: 'snapcontent-1' }])
})

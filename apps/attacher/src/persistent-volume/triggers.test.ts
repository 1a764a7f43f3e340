import type { InformerEvent } from '@csi-sidecars/informer'
import { describe, expect, it } from '@jest/globals'
import type { CachedVolume } from '../caches/volume.ts'
import { attachment, DRIVER, FINALIZER, volume } from '../testing/views.ts'
import { onAttachmentGone, onVolume, wakesOnDetach } from './triggers.ts'

const DELETED = { deletionTimestamp: '2026-01-01T00:00:00Z' }
const WITHOUT = { finalizers: ['a/b'] }
const change = (before: CachedVolume, after: CachedVolume): InformerEvent<CachedVolume> => ({
  ...{ type: 'updated', origin: 'change' },
  ...{ before, after },
})

describe('onVolume', () => {
  const trigger = onVolume({ driverName: DRIVER, finalizer: FINALIZER })

  it.each<[string, InformerEvent<CachedVolume>, readonly string[]]>([
    ['is in use', { type: 'added', object: volume() }, []],
    ['was deleted before the start', { type: 'added', object: volume({}, DELETED) }, ['pv1']],
    ['is being deleted', change(volume(), volume({}, DELETED)), ['pv1']],
    ['loses our finalizer to another writer', change(volume(), volume({}, WITHOUT)), ['pv1']],
    ['has never had our finalizer', change(volume({}, WITHOUT), volume({}, WITHOUT)), []],
    ['keeps our finalizer', change(volume(), volume({}, { labels: { a: 'b' } })), []],
    ['loses our finalizer in its deletion', change(volume({}, DELETED), volume({}, { ...DELETED, ...WITHOUT })), []],
    ['is gone', { type: 'deleted', object: volume({}, DELETED) }, []],
  ])(
    'a volume starts a run only if our finalizer may have to be removed or restored: a volume that %s',
    (_, event, keys) => {
      expect([...trigger(event)]).toEqual(keys)
    },
  )
})

describe('the end of an attachment', () => {
  const gone = { type: 'deleted', object: attachment() } as const
  const leaving = { type: 'updated', before: attachment(), after: attachment({ deleting: true }) } as const

  it('a deleted attachment starts a run of its volume, and wakes the volume that waits for it', () => {
    expect([...onAttachmentGone(gone)]).toEqual(['pv1'])
    expect(wakesOnDetach(gone)).toEqual([{ kind: 'attachment', name: 'va1' }])
  })

  it('a deleted attachment of an inline volume starts no run: there is no PersistentVolume', () => {
    expect([...onAttachmentGone({ type: 'deleted', object: attachment({ pvName: undefined }) })]).toEqual([])
  })

  it('an attachment whose deletion begins still uses its volume', () => {
    expect([...onAttachmentGone({ ...leaving, origin: 'change' })]).toEqual([])
    expect(wakesOnDetach({ ...leaving, origin: 'change' })).toEqual([])
  })
})

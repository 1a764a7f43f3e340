import type { PersistentVolume } from '@csi-sidecars/kube-types'
import { describe, expect, it } from '@jest/globals'
import type { Attachment } from '../caches/attachment.ts'
import type { Volume } from '../caches/volume.ts'
import { attachment, csi, volume } from '../testing/views.ts'
import { attachmentLanes, placeOf } from './lanes.ts'

const reader = <T extends { key: string }>(...objects: T[]): { get(key: string): T | undefined } => {
  const byKey = new Map(objects.map((object) => [object.key, object]))
  return { get: (key) => byKey.get(key) }
}

describe('placeOf', () => {
  const place = (va: Attachment | undefined, pv?: Volume, maxInflightPerNode = 0): unknown =>
    placeOf(va, { maxInflightPerNode }, reader(...(pv ? [pv] : [])))

  it.each([
    { name: 'an attach', va: attachment(), lane: 0 },
    { name: 'a detach', va: attachment({ deleting: true }), lane: 1 },
  ])('$name is in lane $lane', ({ va, lane }) => {
    expect(place(va, volume())).toMatchObject({ lane })
  })

  it.each([
    { modes: ['ReadWriteOnce'], group: 'volume handle-1' },
    { modes: ['ReadWriteOncePod'], group: 'volume handle-1' },
    { modes: ['ReadWriteMany'], group: 'volume handle-1 on node1' },
    { modes: ['ReadOnlyMany'], group: 'volume handle-1 on node1' },
    { modes: ['ReadWriteOnce', 'ReadWriteMany'], group: 'volume handle-1 on node1' },
    { modes: ['New'], group: 'volume handle-1' },
    { modes: [], group: 'volume handle-1' },
    { modes: undefined, group: 'volume handle-1' },
  ])('$modes: one call at a time for "$group"', ({ modes, group }) => {
    expect(place(attachment(), volume({ accessModes: modes }))).toMatchObject({ limits: [{ group, max: 1 }] })
  })

  it('goes by the name of a volume whose handle cannot be said', () => {
    const limits = [{ group: 'volume of pv1', max: 1 }]
    expect(place(attachment())).toMatchObject({ limits })
    expect(place(attachment(), volume({ nfs: { server: 's', path: '/' } }))).toMatchObject({ limits })
    const broken = volume({ awsElasticBlockStore: { volumeID: 'aws://' } })
    expect(place(attachment(), broken)).toMatchObject({ limits })
  })

  it.each([
    { name: 'the handle', source: { awsElasticBlockStore: { volumeID: 'aws://zone/vol-1' } }, group: 'volume vol-1' },
    {
      name: 'its many nodes',
      source: { accessModes: ['ReadWriteMany'], cinder: { volumeID: 'v' } },
      group: 'volume v on node1',
    },
    {
      name: 'the single node of a disk whose modes translation narrows',
      source: { accessModes: ['ReadWriteMany'], gcePersistentDisk: { pdName: 'd' } },
      group: 'volume projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d',
    },
  ])('counts an in-tree volume as translation makes it: $name', ({ source, group }) => {
    expect(place(attachment(), volume(source))).toMatchObject({ limits: [{ group, max: 1 }] })
  })

  it("goes by what stands for the handle of another driver's volume, and lets its many nodes use it", () => {
    const groupOf = (name: string, spec: PersistentVolume['spec'], nodeName = 'node1'): string | undefined => {
      const foreign = volume({ ...spec, csi: csi({ driver: 'other', ...spec?.csi }) }, { name })
      return placeOf(attachment({ pvName: name, nodeName }), { maxInflightPerNode: 0 }, reader(foreign)).limits[0]
        ?.group
    }
    const single = groupOf('pv1', {})
    expect([groupOf('pv2', {}), groupOf('pv1', {}, 'node2')]).toEqual([single, single])
    expect(groupOf('pv1', { csi: csi({ volumeHandle: 'handle-2' }) })).not.toBe(single)
    const shared = { accessModes: ['ReadWriteMany'] }
    expect(groupOf('pv1', shared)).not.toBe(groupOf('pv1', shared, 'node2'))
    expect(groupOf('pv1', shared)).toBe(groupOf('pv2', shared))
  })

  it.each([
    { name: 'no source', va: attachment({ pvName: undefined }) },
    { name: 'both sources', va: attachment({ inlineSpec: { csi: csi() } }) },
    { name: 'an inline spec that is not CSI', va: attachment({ pvName: undefined, inlineSpec: {} }) },
  ])('counts one with $name by itself', ({ va }) => {
    expect(place(va, volume())).toMatchObject({ limits: [{ group: 'volume va1', max: 1 }] })
  })

  it('goes by the handle of an inline volume', () => {
    const va = attachment({ pvName: undefined, inlineSpec: { accessModes: ['ReadWriteOnce'], csi: csi() } })
    expect(place(va)).toMatchObject({ limits: [{ group: 'volume handle-1', max: 1 }] })
  })

  it('limits a node where the flag says so', () => {
    expect(place(attachment(), volume(), 3)).toMatchObject({ limits: [{}, { group: 'node node1', max: 3 }] })
  })

  it('limits nothing for one that is gone', () => {
    expect(place(undefined)).toEqual({ lane: 0, limits: [] })
  })
})

describe('attachmentLanes', () => {
  const attachments = (count: number, deleting: boolean): Attachment[] =>
    Array.from({ length: count }, (_, i) =>
      attachment({ key: `${deleting ? 'd' : 'a'}${i}`, pvName: `pv${i}${deleting}`, deleting }),
    )
  const started = (workers: number, vas: Attachment[]): string[] => {
    const lanes = attachmentLanes({ workers, maxInflightPerNode: 0 }, reader(...vas), reader<Volume>())
    for (const { key } of vas) lanes.push(key)
    const taken: string[] = []
    for (let key = lanes.take(); key !== undefined; key = lanes.take()) taken.push(key)
    return taken
  }

  it.each([
    { workers: 1, detaches: 1 },
    { workers: 2, detaches: 1 },
    { workers: 10, detaches: 6 },
    { workers: 100, detaches: 60 },
  ])('detaches alone take $detaches of $workers workers', ({ workers, detaches }) => {
    expect(started(workers, attachments(200, true))).toHaveLength(detaches)
  })

  it('attaches alone take all workers', () => {
    expect(started(10, attachments(20, false))).toHaveLength(10)
  })

  it('attaches behind a storm of detaches start at once', () => {
    const taken = started(10, [...attachments(100, true), ...attachments(20, false)])
    expect(taken.filter((key) => key.startsWith('a')).length).toBeGreaterThanOrEqual(4)
    expect(taken).toHaveLength(10)
  })
})

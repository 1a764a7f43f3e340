import type { PersistentVolume } from '@csi-sidecars/kube-types'
import type { GroupLimit, Placement } from '@csi-sidecars/workqueue'
import { describe, expect, it } from '@jest/globals'
import type { CachedAttachment } from '../caches/attachment.ts'
import type { CachedVolume } from '../caches/volume.ts'
import { attachment, csi, volume } from '../testing/views.ts'
import { attachmentLanes, placementOf, volumeIdentityName } from './lanes.ts'
import { AttachmentMemory } from './memory.ts'

const reader = <T extends { key: string }>(...objects: T[]): { get(key: string): T | undefined } => {
  const byKey = new Map(objects.map((object) => [object.key, object]))
  return { get: (key) => byKey.get(key) }
}

const none = new AttachmentMemory()

describe('placementOf', () => {
  const place = (va: CachedAttachment | undefined, pv?: CachedVolume, maxInflightPerNode = 0): Placement => {
    const attachments = reader(...(va ? [va] : []))
    const volumes = reader(...(pv ? [pv] : []))
    return placementOf('va1', { maxInflightPerNode }, { attachments, volumes, memory: none })
  }
  const groups = (...args: Parameters<typeof place>): string[] => place(...args).limits.map(({ group }) => group)
  const deleting = attachment({ deleting: true })

  it.each([
    { name: 'an attach', va: attachment(), lane: 0, blocks: undefined },
    { name: 'a detach', va: deleting, lane: 1, blocks: 'volume handle-1' },
  ])('the queue puts $name into lane $lane and blocks the group "$blocks"', ({ va, lane, blocks }) => {
    const { lane: found, blocks: blocked } = place(va, volume())
    expect([found, blocked]).toEqual([lane, blocks])
  })

  it.each([
    { modes: ['ReadWriteOnce'], max: 1 },
    { modes: ['ReadWriteOncePod'], max: 1 },
    { modes: ['ReadWriteMany'], max: Number.POSITIVE_INFINITY },
    { modes: ['ReadOnlyMany'], max: Number.POSITIVE_INFINITY },
    { modes: ['ReadWriteOnce', 'ReadWriteMany'], max: Number.POSITIVE_INFINITY },
    { modes: ['New'], max: 1 },
    { modes: [], max: 1 },
    { modes: undefined, max: 1 },
  ])('for access modes $modes, the queue allows one call per node and $max publishes', ({ modes, max }) => {
    const onNode = { group: 'volume handle-1 on node1', max: 1 }
    const pv = volume({ accessModes: modes })
    expect(place(attachment(), pv).limits).toEqual([{ group: 'volume handle-1', max }, onNode])
    expect(place(deleting, pv).limits).toEqual([onNode])
  })

  it('the queue groups calls by the name of the volume if its handle is unknown', () => {
    const names = ['volume of pv1', 'volume of pv1 on node1']
    expect(groups(attachment())).toEqual(names)
    expect(groups(attachment(), volume({ nfs: { server: 's', path: '/' } }))).toEqual(names)
    expect(groups(attachment(), volume({ awsElasticBlockStore: { volumeID: 'aws://' } }))).toEqual(names)
  })

  it.each([
    {
      name: 'the handle',
      source: { awsElasticBlockStore: { volumeID: 'aws://zone/vol-1' } },
      limit: { group: 'volume vol-1', max: 1 },
    },
    {
      name: 'the access mode for many nodes',
      source: { accessModes: ['ReadWriteMany'], cinder: { volumeID: 'v' } },
      limit: { group: 'volume v', max: Number.POSITIVE_INFINITY },
    },
    {
      name: 'the access mode that the translation narrows to a single node',
      source: { accessModes: ['ReadWriteMany'], gcePersistentDisk: { pdName: 'd' } },
      limit: { group: 'volume projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d', max: 1 },
    },
  ])('the queue uses the translation of an in-tree volume: $name', ({ source, limit }) => {
    expect(place(attachment(), volume(source)).limits[0]).toEqual(limit)
  })

  it('volumes of another driver with the same handle share a queue group, limited by their access modes', () => {
    const limitOf = (name: string, spec: PersistentVolume['spec']): GroupLimit | undefined =>
      place(attachment({ pvName: name }), volume({ ...spec, csi: csi({ driver: 'other', ...spec?.csi }) }, { name }))
        .limits[0]
    const single = limitOf('pv1', {})
    expect(single?.max).toBe(1)
    expect(limitOf('pv2', {})).toEqual(single)
    expect(limitOf('pv1', { csi: csi({ volumeHandle: 'handle-2' }) })?.group).not.toBe(single?.group)
    expect(limitOf('pv1', { accessModes: ['ReadWriteMany'] })).toEqual({ ...single, max: Number.POSITIVE_INFINITY })
  })

  it('a volume of another driver keeps its queue group when its source has been read', () => {
    const foreign = volume({ csi: csi({ driver: 'other' }) })
    const read: CachedVolume = { ...foreign, spec: { accessModes: [], csi: csi({ driver: 'other' }) } }
    const nameOf = (pv: CachedVolume): string => volumeIdentityName(attachment(), { kind: 'pv', name: 'pv1', pv })
    expect(nameOf(read)).toBe(nameOf(foreign))
  })

  it.each([
    { name: 'no source', va: attachment({ pvName: undefined }) },
    { name: 'both sources', va: attachment({ inlineSpec: { csi: csi() } }) },
    { name: 'an inline spec that is not CSI', va: attachment({ pvName: undefined, inlineSpec: {} }) },
  ])('the queue places an attachment with $name in a group of its own', ({ va }) => {
    expect(place(va, volume()).limits[0]).toEqual({ group: 'volume va1', max: 1 })
  })

  it('the queue groups an inline volume by its handle', () => {
    const va = attachment({ pvName: undefined, inlineSpec: { accessModes: ['ReadWriteOnce'], csi: csi() } })
    expect(place(va).limits[0]).toEqual({ group: 'volume handle-1', max: 1 })
  })

  it('the queue treats the unpublish of a volume without an attachment like a detach', () => {
    const memory = new AttachmentMemory()
    const request = { volumeId: 'handle-1', nodeId: 'id' }
    const publication = { volume: 'handle-1', nodeName: 'node1', request, secret: undefined, migrated: false }
    memory.recordPublish({ uid: 'u' }, publication)
    const [key = ''] = memory.forget({ uid: 'u' })
    const sources = { attachments: reader(deleting), volumes: reader(volume()), memory }
    expect(placementOf(key, { maxInflightPerNode: 3 }, sources)).toEqual(place(deleting, volume(), 3))
  })

  it('the queue limits the calls for a node with `--max-inflight-per-node`', () => {
    for (const va of [attachment(), deleting]) {
      expect(place(va, volume(), 3).limits.at(-1)).toEqual({ group: 'node node1', max: 3 })
    }
  })

  it('the queue sets no limits for a deleted attachment', () => {
    expect(place(undefined)).toEqual({ lane: 0, limits: [] })
  })
})

describe('attachmentLanes', () => {
  const attachments = (count: number, deleting: boolean): CachedAttachment[] =>
    Array.from({ length: count }, (_, i) =>
      attachment({ key: `${deleting ? 'd' : 'a'}${i}`, pvName: `pv${i}${deleting}`, deleting }),
    )
  const started = (workers: number, ...waves: CachedAttachment[][]): string[] => {
    const sources = { attachments: reader(...waves.flat()), volumes: reader<CachedVolume>(), memory: none }
    const lanes = attachmentLanes({ workers, maxInflightPerNode: 0 }, sources)
    const keys: string[] = []
    for (const wave of waves) {
      for (const { key } of wave) lanes.push(key)
      for (let key = lanes.pop(); key !== undefined; key = lanes.pop()) keys.push(key)
    }
    return keys
  }

  it.each([1, 2, 10, 100])('if only detaches or only attaches are queued, they use all %d workers', (workers) => {
    expect(started(workers, attachments(200, true))).toHaveLength(workers)
    expect(started(workers, attachments(200, false))).toHaveLength(workers)
  })

  it.each([
    { workers: 1, more: 0 },
    { workers: 2, more: 1 },
    { workers: 10, more: 4 },
    { workers: 100, more: 40 },
  ])('$more attaches start although detaches occupy all of $workers workers', ({ workers, more }) => {
    const keys = started(workers, attachments(200, true), attachments(100, false))
    expect(keys.slice(workers)).toEqual(attachments(more, false).map(({ key }) => key))
  })

  it('while attaches are queued, detaches use only two of ten workers', () => {
    const keys = started(10, [...attachments(100, true), ...attachments(20, false)])
    expect(keys).toHaveLength(10)
    expect(keys.filter((key) => key.startsWith('d'))).toEqual(['d0', 'd1'])
  })

  it('a volume is detached before it is published on another node, even if two PersistentVolumes share it', () => {
    const shared = { csi: csi() }
    const volumes = reader(
      volume({ ...shared, accessModes: ['ReadWriteOnce'] }, { name: 'rwo' }),
      volume({ ...shared, accessModes: ['ReadWriteMany'] }, { name: 'rwx' }),
    )
    const vas = [
      attachment({ key: 'rwo on n2', pvName: 'rwo', nodeName: 'n2' }),
      attachment({ key: 'rwx on n3', pvName: 'rwx', nodeName: 'n3' }),
      attachment({ key: 'rwx on n2', pvName: 'rwx', nodeName: 'n2' }),
      attachment({ key: 'rwo off n1', pvName: 'rwo', nodeName: 'n1', deleting: true }),
    ]
    const sources = { attachments: reader(...vas), volumes, memory: none }
    const lanes = attachmentLanes({ workers: 10, maxInflightPerNode: 0 }, sources)
    const startAll = (): string[] => {
      const keys: string[] = []
      for (let key = lanes.pop(); key !== undefined; key = lanes.pop()) keys.push(key)
      return keys
    }
    for (const { key } of vas) lanes.push(key)
    expect(startAll()).toEqual(['rwx on n3', 'rwx on n2', 'rwo off n1'])
    lanes.release('rwx on n3')
    lanes.release('rwo off n1')
    expect(startAll()).toEqual([])
    lanes.release('rwx on n2')
    expect(startAll()).toEqual(['rwo on n2'])
    lanes.push('rwx on n3')
    lanes.push('rwo off n1')
    expect(startAll()).toEqual(['rwo off n1'])
  })
})

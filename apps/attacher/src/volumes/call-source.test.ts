import { describe, expect, it } from '@jest/globals'
import { csi, ofPv, volume } from '../testing/views.ts'
import { callSource, listedHandle } from './call-source.ts'
import type { AttachVolumeView } from './volume-view.ts'

const inline = (driver: string, volumeHandle: string): AttachVolumeView => ({
  kind: 'inline',
  spec: { csi: { driver, volumeHandle } },
})
const GCE = 'pd.csi.storage.gke.io'
const GCE_NODE = 'projects/p1/zones/z1/instances/i1'

describe('callSource', () => {
  const rows: { name: string; volume: AttachVolumeView; code: string | undefined; message: unknown }[] = [
    {
      name: 'an attachment with an inline volume and a PersistentVolume',
      volume: { kind: 'both' },
      code: 'VA_SOURCE_AMBIGUOUS',
      message: 'both InlineCSIVolumeSource and PersistentVolumeName specified in VA source',
    },
    {
      name: 'an attachment without a volume',
      volume: { kind: 'nowhere' },
      code: 'VA_SOURCE_MISSING',
      message: 'neither InlineCSIVolumeSource nor PersistentVolumeName specified in VA source',
    },
    {
      name: 'an inline volume that is not CSI',
      volume: { kind: 'inline', spec: {} },
      code: 'VA_INLINE_NOT_CSI',
      message: 'inline volume spec contains nil CSI source',
    },
    { name: 'no volume', volume: ofPv(undefined), code: 'NIL_OBJECT', message: 'persistentvolume "pv1" not found' },
    {
      name: 'a volume that is neither CSI nor in-tree',
      volume: ofPv(volume({ nfs: { server: 's', path: '/' } })),
      code: 'PV_NOT_CSI',
      message: 'pv spec contained non-csi source that was not migrated',
    },
    {
      name: 'an in-tree volume that cannot be translated',
      volume: ofPv(volume({ azureDisk: { diskName: 'd', diskURI: 'u', kind: 'Shared' } })),
      code: 'AZURE_DISK_KIND',
      message: 'failed to translate in tree pv to CSI: kind(Shared) is not supported in csi migration',
    },
    {
      name: 'an in-tree volume with a field of a wrong type',
      volume: ofPv(volume({ awsElasticBlockStore: { volumeID: 7 as never } })),
      code: undefined,
      message: expect.stringMatching(/^failed to translate in tree pv to CSI: ./),
    },
  ]
  it.each(rows)('a CSI call for $name is refused with code $code', ({ volume: of, code, message }) => {
    expect(callSource(of)).toMatchObject({ ok: false, code, message })
  })
})

describe('usable volumes', () => {
  it.each([
    { name: 'a CSI volume', volume: ofPv(volume()), migrated: false },
    { name: 'an inline volume', volume: { kind: 'inline', spec: { csi: csi() } } as const, migrated: false },
    { name: 'an in-tree volume', volume: ofPv(volume({ cinder: { volumeID: 'handle-1' } })), migrated: true },
  ])('a CSI call for $name is marked as migrated: $migrated', ({ volume: of, migrated }) => {
    expect(callSource(of)).toMatchObject({ ok: true, migrated, csi: { volumeHandle: 'handle-1' } })
  })
})

describe('listedHandle', () => {
  const unrepaired = 'projects/UNSPECIFIED/zones/z1/disks/d'
  const repaired = 'projects/p1/zones/z1/disks/d'
  const labels = { labels: { 'topology.kubernetes.io/zone': 'z1' } }
  const rows: { name: string; volume: AttachVolumeView; is: unknown }[] = [
    {
      name: 'a CSI volume',
      volume: ofPv(volume({ csi: csi({ volumeHandle: unrepaired }) })),
      is: unrepaired,
    },
    { name: 'a translated volume', volume: ofPv(volume({ gcePersistentDisk: { pdName: 'd' } }, labels)), is: repaired },
    { name: 'an inline volume', volume: inline(GCE, unrepaired), is: repaired },
    {
      name: 'an inline volume with a complete handle',
      volume: inline(GCE, 'projects/p/zones/z/disks/d'),
      is: 'projects/p/zones/z/disks/d',
    },
  ]
  it.each(rows)('the handle of $name in ListVolumes is $is', ({ volume: of, is }) => {
    expect(listedHandle(of, GCE_NODE)).toEqual({ ok: true, volumeHandle: is })
  })

  it('an incomplete handle causes an error if it cannot be completed', () => {
    expect(listedHandle(inline(GCE, 'projects/UNSPECIFIED'), GCE_NODE)).toMatchObject({
      ok: false,
      code: 'GCE_HANDLE_ELEMENTS',
    })
  })
})

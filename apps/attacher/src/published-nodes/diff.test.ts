import { describe, expect, it } from '@jest/globals'
import type { Attachment } from '../caches/attachment.ts'
import { attachment, csi, DRIVER, ofPv, volume, withFinalizer } from '../testing/views.ts'
import type { NodeView, VolumeView } from '../volume-attachment/observe.ts'
import { compare, listedHandle, type Verdict } from './diff.ts'

const attached = withFinalizer({ attached: true })
const inline = (driver: string, volumeHandle: string): VolumeView => ({
  from: 'inline',
  spec: { csi: { driver, volumeHandle } },
})
const GCE = 'pd.csi.storage.gke.io'
const GCE_NODE = 'projects/p1/zones/z1/instances/i1'

describe('compare', () => {
  const listed = { 'handle-1': ['node1-id'] }
  const rows: {
    name: string
    va: Attachment
    listing: Readonly<Record<string, string[]>>
    volume?: VolumeView
    node?: NodeView
    verdict: Verdict
  }[] = [
    { name: 'attached and listed', va: attached, listing: listed, verdict: { is: 'same' } },
    {
      name: 'attached and not listed',
      va: attached,
      listing: {},
      verdict: { is: 'different', volumeHandle: 'handle-1', found: false },
    },
    {
      name: 'attached and listed elsewhere',
      va: attached,
      listing: { 'handle-1': ['node2-id'], 'handle-2': ['node1-id'] },
      verdict: { is: 'different', volumeHandle: 'handle-1', found: false },
    },
    {
      name: 'not attached and listed',
      va: attachment(),
      listing: listed,
      verdict: { is: 'different', volumeHandle: 'handle-1', found: true },
    },
    { name: 'not attached and not listed', va: attachment(), listing: {}, verdict: { is: 'same' } },
    {
      name: 'without a status and not listed',
      va: attachment({ attached: undefined }),
      listing: {},
      verdict: { is: 'same' },
    },
    {
      name: 'on a node that is gone, which the annotation names',
      va: attached,
      listing: listed,
      node: { known: 'noNode' },
      verdict: { is: 'same' },
    },
    {
      name: 'on a node whose id has changed since',
      va: attached,
      listing: listed,
      node: { known: 'id', nodeId: 'new' },
      verdict: { is: 'different', volumeHandle: 'handle-1', found: false },
    },
    {
      name: 'on an unknown node',
      va: attachment(),
      listing: listed,
      node: { known: 'noNode' },
      verdict: { is: 'unknown', why: 'csinode.storage.k8s.io "node1" not found' },
    },
    {
      name: 'on a node without the driver',
      va: attachment(),
      listing: listed,
      node: { known: 'noDriver' },
      verdict: { is: 'unknown', why: `CSINode node1 does not contain driver ${DRIVER}` },
    },
    {
      name: 'of a volume that is missing',
      va: attached,
      listing: listed,
      volume: ofPv(undefined),
      verdict: { is: 'unknown', why: 'persistentvolume "pv1" not found' },
    },
    {
      name: 'of an inline volume, whose driver has no in-tree plugin',
      va: attached,
      listing: listed,
      volume: inline(DRIVER, 'handle-1'),
      verdict: { is: 'notCompared' },
    },
  ]
  it.each(rows)('$name: $verdict.is', ({ va, listing, verdict, ...rest }) => {
    const published = new Map(Object.entries(listing).map(([handle, nodes]) => [handle, new Set(nodes)]))
    const view = { va, volume: ofPv(volume()), node: { known: 'id', nodeId: 'node1-id' }, ...rest } as const
    expect(compare(view, published, DRIVER)).toEqual(verdict)
  })
})

describe('the handle that a driver lists', () => {
  const unrepaired = 'projects/UNSPECIFIED/zones/z1/disks/d'
  const repaired = 'projects/p1/zones/z1/disks/d'
  const labels = { labels: { 'topology.kubernetes.io/zone': 'z1' } }
  const rows: { name: string; volume: VolumeView; is: unknown }[] = [
    {
      name: 'a CSI volume',
      volume: ofPv(volume({ csi: csi({ volumeHandle: unrepaired }) })),
      is: unrepaired,
    },
    { name: 'a translated volume', volume: ofPv(volume({ gcePersistentDisk: { pdName: 'd' } }, labels)), is: repaired },
    { name: 'an inline volume', volume: inline(GCE, unrepaired), is: repaired },
    {
      name: 'an inline volume that lacks nothing',
      volume: inline(GCE, 'projects/p/zones/z/disks/d'),
      is: 'projects/p/zones/z/disks/d',
    },
  ]
  it.each(rows)('of $name is $is', ({ volume: of, is }) => {
    expect(listedHandle(of, GCE_NODE)).toEqual({ ok: true, volumeHandle: is })
  })

  it('is none where the repair fails', () => {
    expect(listedHandle(inline(GCE, 'projects/UNSPECIFIED'), GCE_NODE)).toMatchObject({
      ok: false,
      code: 'GCE_HANDLE_ELEMENTS',
    })
  })
})

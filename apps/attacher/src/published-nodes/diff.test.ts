import { describe, expect, it } from '@jest/globals'
import type { CachedAttachment } from '../caches/attachment.ts'
import { attachment, DRIVER, ofPv, volume, withFinalizer } from '../testing/views.ts'
import type { AttachNodeView, AttachVolumeView } from '../volumes/volume-view.ts'
import { compareAttachment, type ListingVerdict } from './resync.ts'

const attached = withFinalizer({ attached: true })
const inline = (driver: string, volumeHandle: string): AttachVolumeView => ({
  kind: 'inline',
  spec: { csi: { driver, volumeHandle } },
})

describe('compare', () => {
  const listed = { 'handle-1': ['node1-id'] }
  const rows: {
    name: string
    va: CachedAttachment
    listing: Readonly<Record<string, string[]>>
    volume?: AttachVolumeView
    node?: AttachNodeView
    verdict: ListingVerdict
  }[] = [
    { name: 'attached and listed', va: attached, listing: listed, verdict: { kind: 'same' } },
    {
      name: 'attached and not listed',
      va: attached,
      listing: {},
      verdict: { kind: 'different', volumeHandle: 'handle-1', found: false },
    },
    {
      name: 'attached and listed elsewhere',
      va: attached,
      listing: { 'handle-1': ['node2-id'], 'handle-2': ['node1-id'] },
      verdict: { kind: 'different', volumeHandle: 'handle-1', found: false },
    },
    {
      name: 'not attached and listed',
      va: attachment(),
      listing: listed,
      verdict: { kind: 'different', volumeHandle: 'handle-1', found: true },
    },
    { name: 'not attached and not listed', va: attachment(), listing: {}, verdict: { kind: 'same' } },
    {
      name: 'without a status and not listed',
      va: attachment({ attached: undefined }),
      listing: {},
      verdict: { kind: 'same' },
    },
    {
      name: 'on a deleted node whose ID is in the annotation',
      va: attached,
      listing: listed,
      node: { kind: 'noNode' },
      verdict: { kind: 'same' },
    },
    {
      name: 'on a node whose ID has changed',
      va: attached,
      listing: listed,
      node: { kind: 'id', nodeId: 'new' },
      verdict: { kind: 'different', volumeHandle: 'handle-1', found: false },
    },
    {
      name: 'on an unknown node',
      va: attachment(),
      listing: listed,
      node: { kind: 'noNode' },
      verdict: { kind: 'unknown', why: 'csinode.storage.k8s.io "node1" not found' },
    },
    {
      name: 'on a node without the driver',
      va: attachment(),
      listing: listed,
      node: { kind: 'noDriver' },
      verdict: { kind: 'unknown', why: `CSINode node1 does not contain driver ${DRIVER}` },
    },
    {
      name: 'of a missing volume',
      va: attached,
      listing: listed,
      volume: ofPv(undefined),
      verdict: { kind: 'unknown', why: 'persistentvolume "pv1" not found' },
    },
    {
      name: 'of an inline volume whose driver replaces no in-tree plugin',
      va: attached,
      listing: listed,
      volume: inline(DRIVER, 'handle-1'),
      verdict: { kind: 'notCompared' },
    },
  ]
  it.each(rows)('the comparison of an attachment ($name): $verdict.kind', ({ va, listing, verdict, ...rest }) => {
    const published = new Map(Object.entries(listing).map(([handle, nodes]) => [handle, new Set(nodes)]))
    const view = { va, volume: ofPv(volume()), node: { kind: 'id', nodeId: 'node1-id' }, ...rest } as const
    expect(compareAttachment(view, published, DRIVER)).toEqual(verdict)
  })
})

import type { CachedAttachment } from '../caches/attachment.ts'
import { listedHandle } from '../volumes/call-source.ts'
import { type AttachNodeView, type AttachVolumeView, nodeFailureText, nodeIdIn } from '../volumes/volume-view.ts'

/** The result of ListVolumes: the IDs of the nodes that each volume is published to, by volume handle. */
export type PublishedNodes = ReadonlyMap<string, ReadonlySet<string>>

/** One of our VolumeAttachments, with its volume and its node. */
export interface ComparedAttachment {
  readonly va: CachedAttachment
  readonly volume: AttachVolumeView
  readonly node: AttachNodeView
}

export type ListingVerdict =
  | { readonly is: 'same' }
  | { readonly is: 'different'; readonly volumeHandle: string; readonly found: boolean }
  | { readonly is: 'unknown'; readonly why: string }
  /** The attachment has an inline volume, and its driver replaces no in-tree plugin. */
  | { readonly is: 'notCompared' }

/** Compares the driver's answer to ListVolumes with the status of an attachment. */
export function compare(
  { va, volume, node }: ComparedAttachment,
  published: PublishedNodes,
  driverName: string,
): ListingVerdict {
  const nodeId = nodeIdIn(node) ?? va.nodeId
  if (nodeId === undefined) return { is: 'unknown', why: nodeFailureText(va.nodeName, node, driverName) }
  const listed = listedHandle(volume, nodeId)
  if (!listed.ok) {
    const isForeign = volume.from === 'inline' && listed.code === 'UNKNOWN_NAME'
    return isForeign ? { is: 'notCompared' } : { is: 'unknown', why: listed.message }
  }
  const { volumeHandle } = listed
  const found = published.get(volumeHandle)?.has(nodeId) === true
  return found === (va.attached === true) ? { is: 'same' } : { is: 'different', volumeHandle, found }
}

import type { CachedAttachment } from '../caches/attachment.ts'
import { listedHandle } from '../volumes/call-source.ts'
import { type AttachNodeView, type AttachVolumeView, nodeFailureText, nodeIdIn } from '../volumes/volume-view.ts'

/** The listed volumes: from handle to the IDs of the nodes that they are published to. */
export type PublishedNodes = ReadonlyMap<string, ReadonlySet<string>>

/** An attachment of ours, with its volume and its node. */
export interface ComparedAttachment {
  readonly va: CachedAttachment
  readonly volume: AttachVolumeView
  readonly node: AttachNodeView
}

export type ListingVerdict =
  | { readonly is: 'same' }
  | { readonly is: 'different'; readonly volumeHandle: string; readonly found: boolean }
  | { readonly is: 'unknown'; readonly why: string }
  /** An inline volume of a driver without an in-tree plugin. */
  | { readonly is: 'notCompared' }

/** Compares the driver's listing with the status of the attachment. */
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

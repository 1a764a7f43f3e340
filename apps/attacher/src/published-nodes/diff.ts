import type { Attachment } from '../caches/attachment.ts'
import { listedHandle } from '../volumes/call-source.ts'
import { type NodeView, nodeFailureText, type VolumeView } from '../volumes/volume-view.ts'

/** Volume handle -> ids of the nodes to which the driver says it is published. */
export type Published = ReadonlyMap<string, ReadonlySet<string>>

/** One of our attachments with what its comparison needs. */
export interface Compared {
  readonly va: Attachment
  readonly volume: VolumeView
  readonly node: NodeView
}

export type Verdict =
  | { readonly is: 'same' }
  | { readonly is: 'different'; readonly volumeHandle: string; readonly found: boolean }
  | { readonly is: 'unknown'; readonly why: string }
  /** An inline volume of a driver without an in-tree plugin. */
  | { readonly is: 'notCompared' }

/** Whether the driver's listing agrees with what the attachment says; pure. */
export function compare({ va, volume, node }: Compared, published: Published, driverName: string): Verdict {
  const nodeId = node.known === 'id' ? node.nodeId : va.nodeId
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

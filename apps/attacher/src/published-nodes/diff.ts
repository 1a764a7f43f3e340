import { messageOf } from '@csi-sidecars/base'
import { repairVolumeHandle, TranslationError } from '@csi-sidecars/csi-translation'
import type { Attachment } from '../caches/attachment.ts'
import { callSource, type SourceFailure } from '../volume-attachment/call-source.ts'
import type { NodeView, VolumeView } from '../volume-attachment/observe.ts'

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
  if (nodeId === undefined) return { is: 'unknown', why: nodeText(va, node, driverName) }
  const listed = listedHandle(volume, nodeId)
  if (!listed.ok) {
    const isForeign = volume.from === 'inline' && listed.code === 'UNKNOWN_NAME'
    return isForeign ? { is: 'notCompared' } : { is: 'unknown', why: listed.message }
  }
  const { volumeHandle } = listed
  const found = published.get(volumeHandle)?.has(nodeId) === true
  return found === (va.attached === true) ? { is: 'same' } : { is: 'different', volumeHandle, found }
}

export type ListedHandle = { readonly ok: true; readonly volumeHandle: string } | SourceFailure

/** The handle under which the driver lists the volume: a translated one can lack a part that only the node's id shows. */
export function listedHandle(volume: VolumeView, nodeId: string): ListedHandle {
  const source = callSource(volume)
  if (!source.ok) return source
  const { driver, volumeHandle } = source.csi
  // Inline volumes come translated and look like volumes that always were CSI; all of them are repaired.
  if (!source.migrated && volume.from !== 'inline') return { ok: true, volumeHandle }
  try {
    return { ok: true, volumeHandle: repairVolumeHandle(driver, volumeHandle, nodeId) }
  } catch (error) {
    return { ok: false, code: error instanceof TranslationError ? error.code : undefined, message: messageOf(error) }
  }
}

function nodeText(va: Attachment, node: NodeView, driverName: string): string {
  return node.known === 'noDriver'
    ? `CSINode ${va.nodeName} does not contain driver ${driverName}`
    : `csinode.storage.k8s.io "${va.nodeName}" not found`
}

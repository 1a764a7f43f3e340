import type { Reader } from '@csi-sidecars/informer'
import { isNotFound, type KubeClient } from '@csi-sidecars/kube-client'
import { PERSISTENT_VOLUMES, type PersistentVolumeSpec } from '@csi-sidecars/kube-types'
import type { Attachment } from '../caches/attachment.ts'
import type { DriverNode } from '../caches/node.ts'
import { callSpec, modesOf, type Volume } from '../caches/volume.ts'

/** Where an attachment's volume is described. */
export type VolumeView =
  | { readonly from: 'pv'; readonly name: string; readonly pv: Volume | undefined }
  | { readonly from: 'inline'; readonly spec: PersistentVolumeSpec }
  | { readonly from: 'both' }
  | { readonly from: 'nowhere' }

export type NodeView =
  | { readonly known: 'id'; readonly nodeId: string }
  | { readonly known: 'noNode' }
  | { readonly known: 'noDriver' }

export function volumeOf(va: Attachment, volumes: Pick<Reader<Volume>, 'get'>): VolumeView {
  const { pvName, inlineSpec } = va
  if (pvName !== undefined && inlineSpec !== undefined) return { from: 'both' }
  if (pvName !== undefined) return { from: 'pv', name: pvName, pv: volumes.get(pvName) }
  return inlineSpec === undefined ? { from: 'nowhere' } : { from: 'inline', spec: inlineSpec }
}

export function nodeOf(va: Attachment, nodes: Pick<Reader<DriverNode>, 'get'>): NodeView {
  const node = nodes.get(va.nodeName)
  if (node === undefined) return { known: 'noNode' }
  return node.nodeId === undefined ? { known: 'noDriver' } : { known: 'id', nodeId: node.nodeId }
}

/**
 * The attachment's volume; the source of one that belongs to another driver is read now, since no cache holds it.
 * Throws when the cache is behind what was read: the work was begun in the line of the volume that it holds.
 */
export async function readVolume(
  va: Attachment,
  { volumes, api }: { volumes: Pick<Reader<Volume>, 'get'>; api: Pick<KubeClient, 'get'> },
  signal: AbortSignal,
): Promise<VolumeView> {
  const volume = volumeOf(va, volumes)
  if (volume.from !== 'pv' || volume.pv?.kind !== 'foreign') return volume
  try {
    const { metadata, spec: source } = await api.get(PERSISTENT_VOLUMES, { name: volume.name }, { signal })
    const spec = callSpec(source)
    if ((metadata?.uid ?? '') !== volume.pv.uid || modesOf(spec.accessModes) !== volume.pv.modes) {
      throw new Error(`persistentvolume "${volume.name}" has changed since it was cached`)
    }
    return { ...volume, pv: { ...volume.pv, spec } }
  } catch (error) {
    // The cache has not heard of its end yet.
    if (isNotFound(error)) return { ...volume, pv: undefined }
    throw error
  }
}

/** Why the ID of the node is unknown, for users. */
export function nodeFailureText(nodeName: string, node: NodeView, driverName: string): string {
  return node.known === 'noDriver'
    ? `CSINode ${nodeName} does not contain driver ${driverName}`
    : `csinode.storage.k8s.io "${nodeName}" not found`
}

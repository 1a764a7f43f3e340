import type { Reader } from '@csi-sidecars/informer'
import { isNotFound, type KubeClient } from '@csi-sidecars/kube-client'
import { PERSISTENT_VOLUMES, type PersistentVolumeSpec } from '@csi-sidecars/kube-types'
import type { CachedAttachment } from '../caches/attachment.ts'
import type { CachedDriverNode } from '../caches/open.ts'
import { type CachedVolume, callSpec, modesOf } from '../caches/volume.ts'

/** The source of an attachment's volume. `both` and `nowhere` are invalid attachments. */
export type AttachVolumeView =
  | { readonly kind: 'pv'; readonly name: string; readonly pv: CachedVolume | undefined }
  | { readonly kind: 'inline'; readonly spec: PersistentVolumeSpec }
  | { readonly kind: 'both' }
  | { readonly kind: 'nowhere' }

export type AttachNodeView =
  | { readonly kind: 'id'; readonly nodeId: string }
  | { readonly kind: 'noNode' }
  | { readonly kind: 'noDriver' }

export function volumeOf(va: CachedAttachment, volumes: Pick<Reader<CachedVolume>, 'get'>): AttachVolumeView {
  const { pvName, inlineSpec } = va
  if (pvName !== undefined && inlineSpec !== undefined) return { kind: 'both' }
  if (pvName !== undefined) return { kind: 'pv', name: pvName, pv: volumes.get(pvName) }
  return inlineSpec === undefined ? { kind: 'nowhere' } : { kind: 'inline', spec: inlineSpec }
}

export function nodeOf(va: CachedAttachment, nodes: Pick<Reader<CachedDriverNode>, 'get'>): AttachNodeView {
  const node = nodes.get(va.nodeName)
  if (node === undefined) return { kind: 'noNode' }
  return node.nodeId === undefined ? { kind: 'noDriver' } : { kind: 'id', nodeId: node.nodeId }
}

/**
 * Returns the volume of an attachment. If another driver owns the volume, its source is read from the API server. Throws
 * if that volume has changed since it was cached.
 */
export async function readVolume(
  va: CachedAttachment,
  { volumes, api }: { volumes: Pick<Reader<CachedVolume>, 'get'>; api: Pick<KubeClient, 'get'> },
  signal: AbortSignal,
): Promise<AttachVolumeView> {
  const volume = volumeOf(va, volumes)
  if (volume.kind !== 'pv' || volume.pv?.kind !== 'foreign') return volume
  try {
    const { metadata, spec: source } = await api.get(PERSISTENT_VOLUMES, { name: volume.name }, { signal })
    const spec = callSpec(source)
    if ((metadata?.uid ?? '') !== volume.pv.uid || modesOf(spec.accessModes) !== volume.pv.modes) {
      throw new Error(`persistentvolume "${volume.name}" has changed since it was cached`)
    }
    return { ...volume, pv: { ...volume.pv, spec } }
  } catch (error) {
    // The volume is gone, and the cache does not show it yet.
    if (isNotFound(error)) return { ...volume, pv: undefined }
    throw error
  }
}

/** Returns the PersistentVolume of an attachment's volume. Undefined if it is missing, or the volume is inline. */
export function pvOf(volume: AttachVolumeView): CachedVolume | undefined {
  return volume.kind === 'pv' ? volume.pv : undefined
}

/** Returns the node ID in the CSINode. Undefined if the CSINode is missing, or lacks the driver. */
export function nodeIdIn(node: AttachNodeView): string | undefined {
  return node.kind === 'id' ? node.nodeId : undefined
}

/** Returns the message for users if the node ID is unknown. */
export function nodeFailureText(nodeName: string, node: AttachNodeView, driverName: string): string {
  return node.kind === 'noDriver'
    ? `CSINode ${nodeName} does not contain driver ${driverName}`
    : `csinode.storage.k8s.io "${nodeName}" not found`
}

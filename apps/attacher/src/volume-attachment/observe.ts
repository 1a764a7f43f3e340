import type { Reader } from '@csi-sidecars/informer'
import { isNotFound, type KubeClient } from '@csi-sidecars/kube-client'
import { PERSISTENT_VOLUMES, type PersistentVolumeSpec } from '@csi-sidecars/kube-types'
import type { Attachment } from '../caches/attachment.ts'
import type { DriverNode } from '../caches/node.ts'
import { callSpec, type Volume } from '../caches/volume.ts'

/** What the driver can do, as far as a publish depends on it. */
export interface PublishCapabilities {
  readonly publishReadonly: boolean
  readonly singleNodeMultiWriter: boolean
}

/** The settings of this process that decisions depend on; the same for its whole life. */
export interface AttachSettings {
  readonly driverName: string
  readonly finalizer: string
  readonly defaultFsType: string
}

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

/** One attachment and all that its next step depends on, at one moment. */
export interface AttachmentView {
  readonly va: Attachment
  readonly volume: VolumeView
  readonly node: NodeView
  /** The driver's own listing disagrees with the status: act though the status says that all is well. */
  readonly forced: boolean
  /** The claim was given up, and the status could not be told: it may still say attached. */
  readonly owesStatus: boolean
  readonly capabilities: PublishCapabilities
  readonly settings: AttachSettings
}

export interface Caches {
  readonly attachments: Reader<Attachment>
  readonly volumes: Reader<Volume>
  readonly nodes: Reader<DriverNode>
}

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

/** The attachment's volume; the source of one that belongs to another driver is read now, since no cache holds it. */
export async function readVolume(
  va: Attachment,
  { volumes, api }: { volumes: Pick<Reader<Volume>, 'get'>; api: Pick<KubeClient, 'get'> },
  signal: AbortSignal,
): Promise<VolumeView> {
  const volume = volumeOf(va, volumes)
  if (volume.from !== 'pv' || volume.pv?.kind !== 'foreign') return volume
  try {
    const { spec } = await api.get(PERSISTENT_VOLUMES, { name: volume.name }, { signal })
    return { ...volume, pv: { ...volume.pv, spec: callSpec(spec) } }
  } catch (error) {
    // The cache has not heard of its end yet.
    if (isNotFound(error)) return { ...volume, pv: undefined }
    throw error
  }
}

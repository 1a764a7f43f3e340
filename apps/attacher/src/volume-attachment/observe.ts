import type { Driver } from '@csi-sidecars/csi'
import { ControllerServiceCapability_RPC_Type as Rpc } from '@csi-sidecars/csi-proto'
import type { Reader } from '@csi-sidecars/informer'
import { isNotFound, type KubeClient } from '@csi-sidecars/kube-client'
import { PERSISTENT_VOLUMES, type PersistentVolumeSpec } from '@csi-sidecars/kube-types'
import type { Attachment } from '../caches/attachment.ts'
import type { DriverNode } from '../caches/node.ts'
import { callSpec, modesOf, type Volume } from '../caches/volume.ts'
import type { AttachSettings } from '../parts.ts'
import type { AttachmentMemory, Publication } from './memory.ts'

/** What the driver can do, as far as decisions depend on it. */
export interface DriverCapabilities {
  readonly publishReadonly: boolean
  readonly singleNodeMultiWriter: boolean
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
  /** The driver's own listing disagrees with the status: act though the status needs no change. */
  readonly forced: boolean
  /** The driver's own listing agrees with the status, which still has the error of an earlier try. */
  readonly confirmed: boolean
  /** Another writer has removed our finalizer while it lived. */
  readonly stripped: boolean
  /** Our finalizer is off, and the status could not be written: it may still say attached. */
  readonly statusPending: boolean
  /** What this process has published for it, the last one last. */
  readonly published: readonly Publication[]
  /** Its lost volume is detached, and only the API does not say so. */
  readonly lostDetached: boolean
  readonly capabilities: DriverCapabilities
  readonly settings: AttachSettings
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

export interface ObserveDeps {
  readonly attachments: { readonly store: Pick<Reader<Attachment>, 'get'> }
  readonly volumes: { readonly store: Pick<Reader<Volume>, 'get'> }
  readonly nodes: { readonly store: Pick<Reader<DriverNode>, 'get'> }
  readonly api: Pick<KubeClient, 'get'>
  readonly driver: Pick<Driver, 'capabilities'>
  readonly memory: Pick<AttachmentMemory, 'of'>
  readonly settings: AttachSettings
}

/** The attachment as it is now; undefined when it is gone or not ours. */
export type Observe = (key: string, signal: AbortSignal) => Promise<AttachmentView | undefined>

export function observeAttachment(deps: ObserveDeps): Observe {
  const { attachments, volumes, nodes, api, driver, memory, settings } = deps
  return async (key, signal) => {
    const va = attachments.store.get(key)
    if (va === undefined || !va.ours) return undefined
    const volume = await readVolume(va, { volumes: volumes.store, api }, signal)
    const { listing, statusPending, finalizerRemoved, published, lostDetached } = memory.of(va)
    return {
      va,
      volume,
      node: nodeOf(va, nodes.store),
      forced: listing === 'different',
      confirmed: listing === 'same',
      stripped: finalizerRemoved !== undefined,
      statusPending,
      published,
      lostDetached,
      capabilities: capabilitiesOf(driver),
      settings,
    }
  }
}

function capabilitiesOf(driver: ObserveDeps['driver']): DriverCapabilities {
  const { controller } = driver.capabilities
  return {
    publishReadonly: controller.has(Rpc.PUBLISH_READONLY),
    singleNodeMultiWriter: controller.has(Rpc.SINGLE_NODE_MULTI_WRITER),
  }
}

/** Only a driver that lists volumes with the nodes they are published to can be compared with. */
export function listsPublishedNodes({ capabilities: { controller } }: Pick<Driver, 'capabilities'>): boolean {
  return controller.has(Rpc.LIST_VOLUMES) && controller.has(Rpc.LIST_VOLUMES_PUBLISHED_NODES)
}

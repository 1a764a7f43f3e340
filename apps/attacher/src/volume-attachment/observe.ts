import type { Driver } from '@csi-sidecars/csi'
import { ControllerServiceCapability_RPC_Type as Rpc } from '@csi-sidecars/csi-proto'
import type { Reader } from '@csi-sidecars/informer'
import type { KubeClient } from '@csi-sidecars/kube-client'
import type { CachedAttachment } from '../caches/attachment.ts'
import type { CachedDriverNode } from '../caches/node.ts'
import type { CachedVolume } from '../caches/volume.ts'
import type { AttachSettings } from '../term/deps.ts'
import { type AttachNodeView, type AttachVolumeView, nodeOf, readVolume, volumeOf } from '../volumes/volume-view.ts'
import type { AttachmentMemory, Publication } from './memory.ts'

/** What the driver can do, as far as decisions depend on it. */
export interface PublishCapabilities {
  readonly publishReadonly: boolean
  readonly singleNodeMultiWriter: boolean
}

/** One attachment and all that its next step depends on, at one moment. */
export interface AttachmentView {
  readonly va: CachedAttachment
  readonly volume: AttachVolumeView
  readonly node: AttachNodeView
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
  readonly capabilities: PublishCapabilities
  readonly settings: AttachSettings
}

export interface AttachmentObserveDeps {
  readonly attachments: { readonly store: Pick<Reader<CachedAttachment>, 'get'> }
  readonly volumes: { readonly store: Pick<Reader<CachedVolume>, 'get'> }
  readonly nodes: { readonly store: Pick<Reader<CachedDriverNode>, 'get'> }
  readonly api: Pick<KubeClient, 'get'>
  readonly driver: Pick<Driver, 'capabilities'>
  readonly memory: Pick<AttachmentMemory, 'of'>
  readonly settings: AttachSettings
}

/** Undefined if the attachment is gone, or belongs to another attacher. */
export type ObserveAttachment = (key: string, signal: AbortSignal) => Promise<AttachmentView | undefined>

export function observeAttachment(deps: AttachmentObserveDeps): ObserveAttachment {
  const { attachments, volumes, api } = deps
  return async (key, signal) => {
    const va = attachments.store.get(key)
    if (va === undefined || !va.ours) return undefined
    const volume = await readVolume(va, { volumes: volumes.store, api }, signal)
    return { ...viewOf(va, deps), volume }
  }
}

/** The view from caches and memory alone: the volume of another driver has no source. */
export function viewOf(va: CachedAttachment, deps: Omit<AttachmentObserveDeps, 'attachments' | 'api'>): AttachmentView {
  const { volumes, nodes, driver, memory, settings } = deps
  const { listing, statusPending, finalizerRemoved, published, lostDetached } = memory.of(va)
  return {
    va,
    volume: volumeOf(va, volumes.store),
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

function capabilitiesOf(driver: Pick<Driver, 'capabilities'>): PublishCapabilities {
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

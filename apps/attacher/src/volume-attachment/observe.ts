import type { Driver } from '@csi-sidecars/csi'
import { ControllerServiceCapability_RPC_Type as Rpc } from '@csi-sidecars/csi-proto'
import type { Reader } from '@csi-sidecars/informer'
import type { KubeClient } from '@csi-sidecars/kube-client'
import type { CachedAttachment } from '../caches/attachment.ts'
import type { CachedDriverNode } from '../caches/open.ts'
import type { CachedVolume } from '../caches/volume.ts'
import type { AttachSettings } from '../term/settings.ts'
import { type AttachNodeView, type AttachVolumeView, nodeOf, readVolume, volumeOf } from '../volumes/volume-view.ts'
import type { AttachmentMemory, Publication } from './memory.ts'

/** The capabilities of the driver that decisions depend on. */
export interface PublishCapabilities {
  readonly publishReadonly: boolean
  readonly singleNodeMultiWriter: boolean
}

/** The state of an attachment at one moment, with everything that its plan depends on. */
export interface AttachmentView {
  readonly va: CachedAttachment
  readonly volume: AttachVolumeView
  readonly node: AttachNodeView
  /** True if the driver's listing disagrees with the status, so that a run acts. */
  readonly listingDiffers: boolean
  /** True if the driver's listing agrees with the status. Earlier errors are then outdated. */
  readonly listingAgrees: boolean
  /** True if another writer has removed our finalizer from a living attachment. */
  readonly finalizerRemoved: boolean
  /** True if our finalizer is removed, but the status may still be `attached: true`. */
  readonly mustWriteStatus: boolean
  /** The volumes that this process has published for the attachment, oldest first. */
  readonly publications: readonly Publication[]
  /** True if a lost volume is detached, and only our finalizer must be removed. */
  readonly isLostVolumeDetached: boolean
  readonly capabilities: PublishCapabilities
  readonly settings: AttachSettings
}

/** The caches, the memory and the settings from which the view of an attachment is made. */
export interface AttachmentObserveDeps {
  readonly attachments: { readonly store: Pick<Reader<CachedAttachment>, 'get'> }
  readonly volumes: { readonly store: Pick<Reader<CachedVolume>, 'get'> }
  readonly nodes: { readonly store: Pick<Reader<CachedDriverNode>, 'get'> }
  readonly api: Pick<KubeClient, 'get'>
  readonly driver: Pick<Driver, 'capabilities'>
  readonly memory: Pick<AttachmentMemory, 'recordOf'>
  readonly settings: AttachSettings
}

/** Reads the state of an attachment. Returns undefined if it is gone, or belongs to another attacher. */
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

/** Returns the state of an attachment from caches and memory alone. It lacks the source of another driver's volume. */
export function viewOf(va: CachedAttachment, deps: Omit<AttachmentObserveDeps, 'attachments' | 'api'>): AttachmentView {
  const { volumes, nodes, driver, memory, settings } = deps
  const { listing, mustWriteStatus, finalizerRemoved, publications, isLostVolumeDetached } = memory.recordOf(va)
  return {
    va,
    volume: volumeOf(va, volumes.store),
    node: nodeOf(va, nodes.store),
    listingDiffers: listing === 'different',
    listingAgrees: listing === 'same',
    finalizerRemoved: finalizerRemoved !== undefined,
    mustWriteStatus,
    publications,
    isLostVolumeDetached,
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

/** Reports whether the driver lists volumes with their nodes. If it does not, attachments are never compared. */
export function listsPublishedNodes({ capabilities: { controller } }: Pick<Driver, 'capabilities'>): boolean {
  return controller.has(Rpc.LIST_VOLUMES) && controller.has(Rpc.LIST_VOLUMES_PUBLISHED_NODES)
}

import type { Driver } from '@csi-sidecars/csi'
import { ControllerServiceCapability_RPC_Type as Rpc } from '@csi-sidecars/csi-proto'
import type { Reader } from '@csi-sidecars/informer'
import type { KubeClient } from '@csi-sidecars/kube-client'
import type { Attachment } from '../caches/attachment.ts'
import type { DriverNode } from '../caches/node.ts'
import type { Volume } from '../caches/volume.ts'
import type { AttachSettings } from '../term/deps.ts'
import { type NodeView, nodeOf, readVolume, type VolumeView } from '../volumes/volume-view.ts'
import type { AttachmentMemory, Publication } from './memory.ts'

/** What the driver can do, as far as decisions depend on it. */
export interface DriverCapabilities {
  readonly publishReadonly: boolean
  readonly singleNodeMultiWriter: boolean
}

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

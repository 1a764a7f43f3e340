import { type Caches, handleKey, PODS_BY_NODE, VOLUMES_BY_HANDLE } from '../caches/caches.ts'
import { type CachedNode, isOutOfService } from '../caches/node.ts'
import type { CachedPod } from '../caches/pod.ts'
import type { Attachment } from '../caches/storage.ts'
import { csiSourceOf } from '../caches/volume.ts'
import { attachmentName, csiVolumeOf, uniqueVolumeName } from '../volume-names.ts'
import { ActualAttachments } from './actual-state.ts'
import type { AttachDetachView, NodeView } from './decide.ts'
import { DesiredAttachments, type PodRef } from './desired-state.ts'
import { mayAttachTwice, needsAttach, resolveVolumes, wantsVolumes } from './resolve.ts'

/** The options of the attach-detach state that depend on the version of Kubernetes. */
export interface AttachDetachStateOptions {
  /** How long an unhealthy node may delay a detach. Undefined: no limit. */
  readonly maxWaitForUnmountMs: number | undefined
  /** True if a deleted Node counts as a machine that is gone and uses no volumes. */
  readonly deletedNodeReleasesVolumes: boolean
  /** True if `rebuild` counts attachments of drivers that need no attach, so that unused ones are detached. */
  readonly detachesWithoutNeed: boolean
}

/** The facts about an attachment that only this controller knows, because no cache contains them. */
interface AttachmentMemory {
  /** The deletion was requested. Its event may not have arrived yet. */
  readonly deleted?: boolean
  /** The last attach error that was reported on the pods. */
  readonly reportedError?: string | undefined
  /** The monotonic time at which the wait for the attacher began. */
  readonly waitingSince?: number | undefined
}

/** The desired and the actual state, derived from the cached objects of the API. */
export class AttachDetachState {
  readonly desired = new DesiredAttachments()
  readonly actual = new ActualAttachments()
  /** The recorded facts about each attachment, by the UID of the attachment. */
  readonly #memory = new Map<string, AttachmentMemory>()
  /** The names of requested attachments that the cache may not contain yet. */
  readonly #requested = new Set<string>()
  /** The nodes whose status must still be written for a volume, by the name of the volume. */
  readonly #pendingStatuses = new Map<string, Set<string>>()
  readonly #caches: Caches
  readonly #options: AttachDetachStateOptions

  constructor(caches: Caches, options: AttachDetachStateOptions) {
    this.#caches = caches
    this.#options = options
  }

  /**
   * Builds the desired and the actual state after a start. A volume that a node status lists counts as attached. A
   * VolumeAttachment that no status lists counts as uncertain, because the attach may not be complete. If its Node is
   * missing, the machine may still use the volume, unless a deleted Node releases its volumes.
   */
  rebuild(): void {
    const { nodes, attachments, pods } = this.#caches
    const { deletedNodeReleasesVolumes, detachesWithoutNeed } = this.#options
    for (const node of nodes.store.values()) {
      if (node.managed) this.desired.addNode(node.key)
      for (const { name } of node.volumesAttached) {
        if (csiVolumeOf(name) !== undefined) this.actual.markAttached(name, node.key)
      }
      this.actual.setInUse(node.key, node.volumesInUse)
    }
    for (const attachment of attachments.store.values()) {
      const volumeName = this.volumeNameOf(attachment)
      const { attacher, nodeName } = attachment
      if (volumeName === undefined || this.actual.on(volumeName, nodeName) !== undefined) continue
      if (!detachesWithoutNeed && !needsAttach(attacher, this.#caches)) continue
      this.actual.markUncertain(volumeName, nodeName)
      const isGone = nodes.store.get(nodeName) === undefined
      if (isGone && !deletedNodeReleasesVolumes) this.actual.assumeInUse(volumeName, nodeName)
    }
    for (const pod of pods.store.values()) this.syncPod(pod)
  }

  /** Returns the volumes of the desired and of the actual state. */
  volumeNames(): ReadonlySet<string> {
    const names = new Set(this.actual.volumes())
    for (const { volumes } of this.desired.pods()) {
      for (const name of volumes) names.add(name)
    }
    return names
  }

  /** Updates the desired state with the volumes of a pod. Returns the volumes to reconcile. */
  syncPod(pod: CachedPod): readonly string[] {
    if (!wantsVolumes(pod)) return this.desired.deletePod(pod.uid)
    const changed: string[] = []
    for (const volume of resolveVolumes(pod, this.#caches)) {
      if (volume.kind === 'attachable') {
        if (this.desired.addPod(refOf(pod), pod.nodeName, volume.spec)) changed.push(volume.spec.volumeName)
      } else if (volume.kind === 'notAttachable' && volume.volumeName !== undefined) {
        this.desired.deleteVolumeOfPod(pod.uid, volume.volumeName)
        changed.push(volume.volumeName)
      }
      // A volume that the caches cannot resolve keeps its state, so that a late cache never causes a detach.
    }
    return changed
  }

  /** Repairs the desired state in case events were missed. Returns the volumes to reconcile. */
  populate(): readonly string[] {
    const { pods } = this.#caches
    const changed: string[] = []
    for (const { ref } of this.desired.pods()) {
      if (pods.store.get(ref.key)?.uid !== ref.uid) changed.push(...this.desired.deletePod(ref.uid))
    }
    for (const pod of pods.store.values()) changed.push(...this.syncPod(pod))
    return changed
  }

  /** Updates the desired and the actual state for an added or changed node. Returns the volumes to reconcile. */
  syncNode(node: string): readonly string[] {
    const cached = this.#caches.nodes.store.get(node)
    if (cached === undefined) return []
    const isNew = cached.managed && !this.desired.hasNode(node)
    if (isNew) this.desired.addNode(node)
    const changed = [...this.actual.setInUse(node, cached.volumesInUse)]
    if (isNew) {
      for (const pod of this.#caches.pods.store.byIndex(PODS_BY_NODE, node)) changed.push(...this.syncPod(pod))
    }
    return changed
  }

  /** Updates the desired and the actual state for a deleted node. Returns the volumes to reconcile. */
  deleteNode({ key, volumesInUse }: CachedNode): readonly string[] {
    this.desired.deleteNode(key)
    const inUse = this.#options.deletedNodeReleasesVolumes ? [] : volumesInUse
    return [...this.actual.setInUse(key, inUse), ...this.actual.volumesOn(key)]
  }

  volumeNameOf({ pvName, key, nodeName }: Attachment): string | undefined {
    const volume = pvName === undefined ? undefined : this.#caches.volumes.store.get(pvName)
    const source = volume && csiSourceOf(volume)
    if (source !== undefined) return uniqueVolumeName(source)
    // Without a known PersistentVolume, the name of the attachment identifies one of the node's volumes.
    for (const volumeName of this.actual.volumesOn(nodeName)) {
      const id = csiVolumeOf(volumeName)
      if (id !== undefined && attachmentName(id, nodeName) === key) return volumeName
    }
    return undefined
  }

  observe(volumeName: string, now: number): AttachDetachView {
    const { desired, actual } = this
    const nodes = new Set([...desired.nodesOf(volumeName), ...actual.nodesOf(volumeName)])
    return {
      multiAttach: desired.specOf(volumeName)?.multiAttach ?? this.#mayAttachTwice(volumeName),
      nodes: [...nodes].sort().map((node) => this.#observeNode(volumeName, node)),
      now,
      maxWaitForUnmountMs: this.#options.maxWaitForUnmountMs,
    }
  }

  /** Returns the attachment of a volume on a node, as the cache contains it. */
  attachmentOf(volumeName: string, node: string): Attachment | undefined {
    const volume = csiVolumeOf(volumeName)
    return volume && this.#caches.attachments.store.get(attachmentName(volume, node))
  }

  #observeNode(volumeName: string, node: string): NodeView {
    const { desired, actual } = this
    const attachment = this.attachmentOf(volumeName, node)
    const memory: AttachmentMemory = (attachment && this.#memory.get(attachment.uid)) ?? {}
    const cached = this.#caches.nodes.store.get(node)
    return {
      node,
      pods: desired.podsOn(volumeName, node),
      actual: actual.on(volumeName, node),
      attachment: attachment === undefined ? this.#absence(volumeName, node) : this.#stateOf(attachment),
      attachError: attachment?.attachError,
      errorReported: attachment !== undefined && memory.reportedError === attachment.attachError,
      waitingSince: memory.waitingSince,
      isReported: actual.isReported(volumeName, node),
      inUse: actual.inUseOn(node).has(volumeName),
      health: healthOf(cached),
      outOfService: cached !== undefined && isOutOfService(cached),
      multiAttachReported: desired.wasMultiAttachReported(volumeName, node),
    }
  }

  #absence(volumeName: string, node: string): NodeView['attachment'] {
    const volume = csiVolumeOf(volumeName)
    return volume !== undefined && this.#requested.has(attachmentName(volume, node)) ? 'unknown' : 'none'
  }

  #stateOf(attachment: Attachment): NodeView['attachment'] {
    if (attachment.deleting || this.#memory.get(attachment.uid)?.deleted) return 'deleting'
    return attachment.attached ? 'attached' : 'waiting'
  }

  /** Records facts about the attachment of a volume to a node, if the cache contains the attachment. */
  remember(volumeName: string, node: string, change: AttachmentMemory): void {
    const attachment = this.attachmentOf(volumeName, node)
    if (attachment !== undefined) this.#memory.set(attachment.uid, { ...this.#memory.get(attachment.uid), ...change })
  }

  /** Records that the attachment may exist, although the cache lacks it. `attachmentSettled` ends this. */
  attachmentRequested(name: string): void {
    this.#requested.add(name)
  }

  /** Records that the cache contains the attachment, or that the API server has none. */
  attachmentSettled(name: string): void {
    this.#requested.delete(name)
  }

  statusPending(volumeName: string, node: string): void {
    const nodes = this.#pendingStatuses.get(volumeName) ?? new Set()
    this.#pendingStatuses.set(volumeName, nodes.add(node))
  }

  statusWritten(volumeName: string, node: string): void {
    const nodes = this.#pendingStatuses.get(volumeName)
    nodes?.delete(node)
    if (nodes?.size === 0) this.#pendingStatuses.delete(volumeName)
  }

  /** Returns the nodes whose last status write for the volume did not succeed. */
  pendingStatuses(volumeName: string): readonly string[] {
    return [...(this.#pendingStatuses.get(volumeName) ?? [])]
  }

  attachmentGone({ uid }: Attachment): void {
    this.#memory.delete(uid)
  }

  /** Reports whether several nodes may attach a volume. Reads the PersistentVolume, because no pod wants the volume. */
  #mayAttachTwice(volumeName: string): boolean {
    const volume = csiVolumeOf(volumeName)
    const [pv] = volume === undefined ? [] : this.#caches.volumes.store.byIndex(VOLUMES_BY_HANDLE, handleKey(volume))
    return pv === undefined || mayAttachTwice(pv)
  }
}

function refOf({ key, uid, resourceVersion }: CachedPod): PodRef {
  return { key, uid, resourceVersion }
}

function healthOf(node: { readonly ready: boolean } | undefined): 'gone' | 'healthy' | 'unhealthy' {
  if (node === undefined) return 'gone'
  return node.ready ? 'healthy' : 'unhealthy'
}

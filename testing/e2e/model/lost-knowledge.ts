import { PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS, type VolumeAttachment } from '@csi-sidecars/kube-types'
import type { TestContext } from '../harness/context.ts'
import { NODE_ID_ANNOTATION } from '../rows/attacher/scene.ts'
import type { Slot } from './attachment-rules.ts'
import { type BackEnd, pairOf } from './back-end.ts'
import { holds, type Identities } from './foreign.ts'

/**
 * The facts that the attacher cannot know, because a person has removed the finalizers or objects that record them. The
 * rules do not expect the attacher to clean up in these cases. `unpublish` cleans up as that person would.
 */
export class LostKnowledge {
  readonly #t: TestContext
  readonly #ids: Identities
  readonly #finalizer: string
  /** Pairs of volume and node. The volume may be published to the node although no API object shows it. */
  readonly #unsure = new Set<string>()
  /** The handles of replaced PersistentVolumes. Only a process that has published the old volume knows its handle. */
  readonly #formerHandles = new Set<string>()
  readonly #lostHandles = new Set<string>()
  /** The former IDs of recreated nodes. Only a process that has published a volume to the old ID knows that ID. */
  readonly #formerNodeIds = new Set<string>()
  readonly #lostNodeIds = new Set<string>()
  readonly #strippedVolumes = new Set<number>()
  readonly #forgottenVolumes = new Set<number>()
  /** Published pairs of volume and node whose attachment may have an outdated publish context. */
  readonly #lostContexts = new Set<string>()

  constructor(t: TestContext, ids: Identities, finalizer: string) {
    this.#t = t
    this.#ids = ids
    this.#finalizer = finalizer
  }

  /** Records the deletion of an attachment. If the attachment has no finalizer, its volume may stay published. */
  deleting(slot: Slot, found: VolumeAttachment): void {
    this.recordFormerNodeId(slot, found)
    const pair = this.#ids.pair(slot.index, slot.node)
    if (slot.isDesired && holds(found, this.#finalizer)) this.#unsure.delete(pair)
    else if (slot.isDesired && slot.finalizerRemoved) this.#unsure.add(pair)
  }

  /** Records that an attachment was removed with all its finalizers. */
  recordRemoval({ index, node }: Slot): void {
    this.#unsure.add(this.#ids.pair(index, node))
  }

  /** Records that an attachment was published to the former ID of its node. */
  recordFormerNodeId({ index, node, isDesired }: Slot, { metadata }: VolumeAttachment): void {
    const nodeId = metadata?.annotations?.[NODE_ID_ANNOTATION] ?? this.#ids.nodeId(node)
    if (isDesired && nodeId !== this.#ids.nodeId(node)) this.#unsure.add(pairOf(this.#ids.handle(index), nodeId))
  }

  volumeStripped(index: number): void {
    this.#strippedVolumes.add(index)
  }

  nodeReplaced(nodeId: string): void {
    this.#formerNodeIds.add(nodeId)
  }

  handleReplaced(handle: string): void {
    this.#formerHandles.add(handle)
  }

  /** Records a recreated PersistentVolume. If an attachment exists (`inUse`), the volume may lack the finalizer. */
  volumeReplaced(index: number, { inUse }: { readonly inUse: boolean }): void {
    this.#strippedVolumes.delete(index)
    if (inUse) this.#forgottenVolumes.add(index)
    else this.#forgottenVolumes.delete(index)
  }

  mayLackFinalizer(index: number): boolean {
    return this.#forgottenVolumes.has(index)
  }

  mayHaveOtherContext(pair: string, backEnd: BackEnd): boolean {
    return this.#lostContexts.has(pair) && !backEnd.isHeard(pair)
  }

  /** Called when a sidecar ends or freezes, and when it has read all objects again. Records the facts that it lost. */
  async interrupted(slots: ReadonlyMap<string, Slot>, backEnd: BackEnd): Promise<void> {
    for (const handle of this.#formerHandles) this.#lostHandles.add(handle)
    for (const nodeId of this.#formerNodeIds) this.#lostNodeIds.add(nodeId)
    for (const [name, slot] of slots) {
      const pair = this.#ids.pair(slot.index, slot.node)
      const mayBeForgotten = slot.finalizerRemoved && !slot.forgotten
      if (!slot.isDesired || !(mayBeForgotten || !backEnd.isHeard(pair))) continue
      const found = await this.#t.api.find(VOLUME_ATTACHMENTS, { name })
      if (found?.status?.attached !== true) continue
      if (!backEnd.isHeard(pair)) this.#lostContexts.add(pair)
      if (mayBeForgotten) slot.forgotten = !holds(found, this.#finalizer)
    }
    for (const index of this.#strippedVolumes) {
      const found = await this.#t.api.find(PERSISTENT_VOLUMES, { name: this.#ids.volume(index) })
      if (found !== undefined && !holds(found, this.#finalizer)) this.#forgottenVolumes.add(index)
    }
  }

  /** Reports whether the old volume of a replaced PersistentVolume may stay published, as it is still attached. */
  mayStay(pair: string, slots: Iterable<Slot>): boolean {
    const [handle = '', nodeId] = pair.split(' on ')
    if (!this.#formerHandles.has(handle)) return false
    return [...slots].some(
      ({ isDesired, index, node }) =>
        isDesired && handle.startsWith(`${this.#ids.volume(index)}-`) && nodeId === this.#ids.nodeId(node),
    )
  }

  /** Unpublishes leftover volumes that the attacher cannot know, as a person does by hand. */
  unpublish(backEnd: BackEnd, slots: Iterable<Slot>): void {
    const desiredPairs = new Set(
      [...slots].flatMap((each) => (each.isDesired ? [this.#ids.pair(each.index, each.node)] : [])),
    )
    for (const pair of this.#unsure) if (!desiredPairs.has(pair)) backEnd.published.delete(pair)
    for (const pair of backEnd.published.keys()) {
      const [handle = '', nodeId = ''] = pair.split(' on ')
      if (this.#lostHandles.has(handle) || this.#lostNodeIds.has(nodeId)) backEnd.published.delete(pair)
    }
  }
}

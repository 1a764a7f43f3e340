import { inParallel } from '@csi-sidecars/base'
import { type Finding, findingsIn } from '@csi-sidecars/disturb'
import {
  CSI_NODES,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  VOLUME_ATTACHMENTS,
  type VolumeAttachment,
} from '@csi-sidecars/kube-types'
import { refused } from '../harness/api/api.ts'
import { attachment, csiNode, volume } from '../harness/api/objects.ts'
import type { TestContext } from '../harness/context.ts'
import { eventually, pause } from '../harness/waiting.ts'
import { finalizerOf } from '../rows/attacher/scene.ts'
import { type AttachmentState, INVARIANTS, type Slot } from './attachment-rules.ts'
import { type BackEnd, pairOf } from './back-end.ts'
import { editFinalizers, Foreign, holds, Identities, isInline, isShared } from './foreign.ts'
import { LostKnowledge } from './lost-knowledge.ts'
import type { AttachmentMove } from './moves.ts'

const AT_A_TIME = 8
const UNSET = { status: { attached: false } }
const GONE_WITHIN_MS = 30_000
/** The time after which the sidecars' watches have delivered a created object. */
const SEEN_AFTER_MS = 150

/** The numbers of volumes and nodes of an `Attachments` model, and facts about the driver and the sidecars. */
export interface AttachmentsOptions {
  readonly volumes: number
  readonly nodes: number
  /** True if the driver supports ListVolumes with published nodes. */
  readonly listing?: boolean
  /** Reports whether the sidecars' caches of PersistentVolumes lag at this moment. */
  readonly volumesLag: () => boolean
}

/** The text of this limit in docs/operations.md, "Known limits". */
const FORMER_HANDLE =
  'A PersistentVolume is deleted by force and recreated under its name with another handle, while an attach runs and the cache of the attacher lags'

/** The volumes and attachments of one test, with the state that their users want. */
export class Attachments {
  readonly #t: TestContext
  readonly #options: AttachmentsOptions
  readonly #backEnd: BackEnd
  readonly #finalizer: string
  readonly #foreign: Foreign
  readonly #slots = new Map<string, Slot>()
  readonly #ids: Identities
  readonly #lost: LostKnowledge
  /** The volumes that got another handle while the caches lagged. */
  readonly #lateHandles = new Set<number>()
  /** The known limits that this test has reached. */
  readonly limits = new Set<string>()

  constructor(t: TestContext, backEnd: BackEnd, options: AttachmentsOptions) {
    this.#t = t
    this.#options = options
    this.#backEnd = backEnd
    this.#finalizer = finalizerOf(t.driverName)
    this.#foreign = new Foreign(t)
    this.#ids = new Identities((suffix) => t.name(suffix))
    this.#lost = new LostKnowledge(t, this.#ids, this.#finalizer)
    for (let index = 0; index < options.volumes; index += 1) {
      for (let node = 0; node < options.nodes; node += 1) {
        const slot = { index, node, isDesired: false, finalizerRemoved: false, forgotten: false }
        this.#slots.set(t.name(`va-${index}-${node}`), slot)
      }
    }
  }

  async start(): Promise<void> {
    const { volumes, nodes } = this.#options
    for (let node = 0; node < nodes; node += 1) await this.#createNode(node)
    await inParallel(AT_A_TIME, Array(volumes).keys(), (index) => this.#createVolume(index))
  }

  async make({ kind, index, node }: AttachmentMove): Promise<void> {
    const ref = { name: this.#ids.attachment(index, node) }
    const ofVolume = { name: this.#ids.volume(index) }
    switch (kind) {
      case 'toggle':
        if (this.#slot(index, node).isDesired) return await this.#delete(index, node)
        if (isShared(index) || this.#wantedOf(index).length === 0) await this.#create(index, node)
        return
      case 'move':
        for (const each of this.#wantedOf(index)) await this.#delete(index, each.node)
        return await this.#create(index, node)
      case 'again':
        return await this.#again(index, node)
      case 'volumeAgain':
        return await this.#volumeAgain(index)
      case 'volumeLate':
        return await this.#volumeLate(index, node)
      case 'foreign':
        return await this.#foreign.toggleFinalizer(VOLUME_ATTACHMENTS, ref)
      case 'foreignOnVolume':
        return await this.#foreign.toggleFinalizer(PERSISTENT_VOLUMES, ofVolume)
      case 'note':
        return await this.#foreign.annotate(VOLUME_ATTACHMENTS, ref)
      case 'strip':
        return await this.#strip(index, node)
      case 'stripVolume':
        this.#lost.volumeStripped(index)
        return void (await editFinalizers(this.#t, { resource: PERSISTENT_VOLUMES, ...ofVolume }, (all) =>
          this.#without(all),
        ))
      case 'unset':
        return void (await refused(this.#t.api.merge(VOLUME_ATTACHMENTS, { ...ref, subresource: 'status' }, UNSET)))
      case 'lose':
        return this.#lose(index)
      case 'nodeAgain':
        return await this.#nodeAgain(node)
    }
  }

  /** Called when a sidecar ends or freezes, and when it has read all objects again. Records the facts that it lost. */
  interrupted(): Promise<void> {
    return this.#lost.interrupted(this.#slots, this.#backEnd)
  }

  async state(): Promise<AttachmentState> {
    const mine = (await this.#t.api.list(VOLUME_ATTACHMENTS)).filter(({ spec }) => spec.attacher === this.#t.driverName)
    const names = this.#volumeNames()
    const volumes = (await this.#t.api.list(PERSISTENT_VOLUMES)).filter(({ metadata }) =>
      names.includes(metadata?.name ?? ''),
    )
    for (const each of mine) {
      const slot = this.#slots.get(each.metadata?.name ?? '')
      if (slot !== undefined) this.#lost.recordFormerNodeId(slot, each)
    }
    this.#lost.unpublish(this.#backEnd, this.#slots.values())
    await this.#mendFormerHandles(mine)
    return {
      backEnd: this.#backEnd,
      slots: this.#slots,
      attachments: new Map(mine.map((each) => [each.metadata?.name ?? '', each])),
      volumes: new Map(volumes.map((each) => [each.metadata?.name ?? '', each])),
      foreign: this.#foreign,
      finalizer: this.#finalizer,
      handleOf: (index) => this.#ids.handle(index),
      pairOf: ({ index, node }) => this.#ids.pair(index, node),
      volumeName: (index) => this.#ids.volume(index),
      mayStay: (pair) => this.#lost.mayStay(pair, this.#slots.values()),
      mayLackFinalizer: (index) => this.#lost.mayLackFinalizer(index),
      mayHaveOtherContext: (pair) => this.#lost.mayHaveOtherContext(pair, this.#backEnd),
    }
  }

  /** Returns a finding for each rule that the objects or the driver violate. */
  async differences(): Promise<readonly Finding[]> {
    return findingsIn(INVARIANTS, await this.state())
  }

  /** Deletes all attachments and removes the finalizers of other controllers. */
  async deleteAll(): Promise<void> {
    await inParallel(AT_A_TIME, this.#slots.values(), async ({ index, node }) => {
      await this.#delete(index, node)
      await this.#releaseForeign(index, node)
    })
  }

  /** Deletes the volumes. Returns a finding for each volume that keeps the attacher's finalizer. */
  async deleteVolumes(): Promise<readonly Finding[]> {
    const names = this.#volumeNames()
    await inParallel(AT_A_TIME, names, (name) => refused(this.#t.api.delete(PERSISTENT_VOLUMES, { name })))
    const left = async (): Promise<readonly PersistentVolume[]> =>
      (await this.#t.api.list(PERSISTENT_VOLUMES)).filter(({ metadata }) => names.includes(metadata?.name ?? ''))
    const gone = async (): Promise<boolean> => (await left()).every((each) => !holds(each, this.#finalizer))
    await eventually('the end of all volumes', gone, { within: GONE_WITHIN_MS, every: 250 }).catch(() => undefined)
    return (await left())
      .filter((each) => holds(each, this.#finalizer))
      .map(({ metadata }) => ({ rule: 'a deleted volume is released', text: `${metadata?.name} keeps a finalizer` }))
  }

  /** Removes all attachments and volumes from the API server, also after a failure. */
  async remove(): Promise<void> {
    for (const name of this.#slots.keys()) await this.#t.strip(VOLUME_ATTACHMENTS, { name })
    for (const name of this.#volumeNames()) await this.#t.strip(PERSISTENT_VOLUMES, { name })
  }

  #volumeNames(): readonly string[] {
    return Array.from({ length: this.#options.volumes }, (_, index) => this.#ids.volume(index))
  }

  async #create(index: number, node: number): Promise<void> {
    const name = this.#ids.attachment(index, node)
    const inlineVolumeSpec = {
      accessModes: ['ReadWriteOnce'],
      csi: { driver: this.#t.driverName, volumeHandle: this.#ids.handle(index) },
    }
    const source = isInline(index) ? { source: { inlineVolumeSpec } } : { pv: this.#ids.volume(index) }
    const created = attachment(name, this.#t.driverName, { ...source, node: this.#ids.node(node) })
    if (await refused(this.#t.api.create(VOLUME_ATTACHMENTS, created))) return
    Object.assign(this.#slot(index, node), { isDesired: true, finalizerRemoved: false, forgotten: false })
  }

  async #delete(index: number, node: number): Promise<void> {
    const slot = this.#slot(index, node)
    const found = await this.#t.api.find(VOLUME_ATTACHMENTS, { name: this.#ids.attachment(index, node) })
    if (found !== undefined) this.#lost.deleting(slot, found)
    slot.isDesired = false
    if (found !== undefined)
      await refused(this.#t.api.delete(VOLUME_ATTACHMENTS, { name: this.#ids.attachment(index, node) }))
  }

  async #again(index: number, node: number): Promise<void> {
    const which = this.#slot(index, node).isDesired ? node : this.#wantedOf(index)[0]?.node
    if (which === undefined) return
    await this.#t.strip(VOLUME_ATTACHMENTS, { name: this.#ids.attachment(index, which) })
    this.#lost.recordRemoval(this.#slot(index, which))
    await this.#create(index, which)
    this.#slot(index, which).finalizerRemoved = true
  }

  async #strip(index: number, node: number): Promise<void> {
    const slot = this.#slot(index, node)
    if (!slot.isDesired) return
    slot.finalizerRemoved = true
    await editFinalizers(this.#t, { resource: VOLUME_ATTACHMENTS, name: this.#ids.attachment(index, node) }, (all) =>
      this.#without(all),
    )
  }

  /**
   * Simulates a driver that detaches a volume without a call, if the driver supports ListVolumes. Skips inline volumes,
   * because the attacher does not compare them with ListVolumes.
   */
  #lose(index: number): void {
    if (this.#options.listing !== true) return
    const published = [...this.#slots.values()]
      .filter((slot) => slot.isDesired && !isInline(slot.index))
      .map((slot) => this.#ids.pair(slot.index, slot.node))
      .filter((pair) => this.#backEnd.published.has(pair))
    const pair = published[index % published.length]
    if (pair !== undefined) this.#backEnd.published.delete(pair)
  }

  async #volumeAgain(index: number): Promise<void> {
    if (isInline(index)) return
    const inUse = await this.#isUsed(index)
    await this.#t.strip(PERSISTENT_VOLUMES, { name: this.#ids.volume(index) })
    if (!inUse) this.#replaceHandle(index)
    this.#lost.volumeReplaced(index, { inUse })
    await this.#createVolume(index)
  }

  /** Recreates attachments that a known limit has attached with a former handle, as docs/operations.md advises. */
  async #mendFormerHandles(mine: readonly VolumeAttachment[]): Promise<void> {
    for (const { index, node, isDesired } of this.#slots.values()) {
      if (!isDesired || !this.#lateHandles.has(index)) continue
      const name = this.#ids.attachment(index, node)
      const context = mine.find(({ metadata }) => metadata?.name === name)?.status?.attachmentMetadata?.['pair']
      if (context === undefined || context.startsWith(pairOf(this.#ids.handle(index), ''))) continue
      this.limits.add(FORMER_HANDLE)
      await this.#delete(index, node)
      const gone = async (): Promise<boolean> => (await this.#t.api.find(VOLUME_ATTACHMENTS, { name })) === undefined
      await eventually(`the end of ${name}`, gone, { within: GONE_WITHIN_MS })
      await this.#create(index, node)
    }
  }

  #replaceHandle(index: number): void {
    if (this.#options.volumesLag()) this.#lateHandles.add(index)
    this.#lost.handleReplaced(this.#ids.handle(index))
    this.#ids.replaceHandle(index)
  }

  async #volumeLate(index: number, node: number): Promise<void> {
    if (isInline(index) || (await this.#isUsed(index))) return
    await this.#t.strip(PERSISTENT_VOLUMES, { name: this.#ids.volume(index) })
    this.#replaceHandle(index)
    this.#lost.volumeReplaced(index, { inUse: false })
    await this.#create(index, node)
    await pause(2 * SEEN_AFTER_MS)
    await this.#createVolume(index)
  }

  async #nodeAgain(node: number): Promise<void> {
    const before = this.#ids.nodeId(node)
    for (const [, slot] of this.#slots) if (slot.node === node && slot.isDesired) await this.#delete(slot.index, node)
    await refused(this.#t.api.delete(CSI_NODES, { name: this.#ids.node(node) }))
    this.#ids.replaceNode(node)
    this.#lost.nodeReplaced(before)
    // Without ListVolumes, the attacher cannot find volumes on the old node ID, so the model unpublishes them here.
    if (this.#options.listing !== true) this.#backEnd.loseNode(before)
    await this.#createNode(node)
    await pause(SEEN_AFTER_MS)
  }

  async #releaseForeign(index: number, node: number): Promise<void> {
    const change = (all: readonly string[]): readonly string[] => all.filter((each) => each === this.#finalizer)
    await editFinalizers(this.#t, { resource: VOLUME_ATTACHMENTS, name: this.#ids.attachment(index, node) }, change)
  }

  async #isUsed(index: number): Promise<boolean> {
    const all = await this.#t.api.list(VOLUME_ATTACHMENTS)
    return all.some(({ spec }) => spec.source.persistentVolumeName === this.#ids.volume(index))
  }

  async #createVolume(index: number): Promise<void> {
    if (isInline(index)) return
    const accessModes = [isShared(index) ? 'ReadWriteMany' : 'ReadWriteOnce']
    const csi = { volumeHandle: this.#ids.handle(index) }
    const made = volume(this.#ids.volume(index), this.#t.driverName, { accessModes, csi })
    await this.#t.api.create(PERSISTENT_VOLUMES, made)
  }

  async #createNode(node: number): Promise<void> {
    await this.#t.create(CSI_NODES, csiNode(this.#ids.node(node), { [this.#t.driverName]: this.#ids.nodeId(node) }))
  }

  #wantedOf(index: number): readonly Slot[] {
    return [...this.#slots.values()].filter((slot) => slot.index === index && slot.isDesired)
  }

  #slot(index: number, node: number): Slot {
    const slot = this.#slots.get(this.#ids.attachment(index, node))
    if (slot === undefined) throw new Error(`there is no volume ${index} or node ${node}`)
    return slot
  }

  #without(all: readonly string[]): readonly string[] {
    return all.filter((each) => each !== this.#finalizer)
  }
}

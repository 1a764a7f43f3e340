import { CSI_NODES, PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS, type VolumeAttachment } from '@csi-sidecars/kube-types'
import { attachment, csiNode, volume } from '../harness/objects.ts'
import { eventually } from '../harness/waiting.ts'
import type { World } from '../harness/world.ts'
import { finalizerOf } from '../stories/attacher/scene.ts'
import { type BackEnd, pairOf } from './back-end.ts'
import type { Finding } from './overlaps.ts'
import { type AttachmentMove, isShared, NODES, volumesOf } from './plan.ts'
import { inParallel, refused, stripped } from './requests.ts'

const SEEN_WITHIN_MS = 30_000

/** Volumes and their attachments, and what somebody wants of them. */
export class Attachments {
  readonly #t: World
  readonly #finalizer: string
  /** By volume: the numbers of the nodes that are to have it. */
  readonly #wanted: Set<number>[]

  constructor(t: World, objects: number) {
    this.#t = t
    this.#finalizer = finalizerOf(t.driverName)
    this.#wanted = Array.from({ length: volumesOf(objects) }, () => new Set())
  }

  async start(): Promise<void> {
    for (let node = 0; node < NODES; node += 1) {
      await this.#t.create(CSI_NODES, csiNode(this.#nodeName(node), { [this.#t.driverName]: this.#nodeId(node) }))
    }
    await inParallel(this.#wanted.length, async (index) => {
      await this.#createVolume(index)
      await this.#create(index, index % NODES)
      if (isShared(index)) await this.#create(index, (index + 1) % NODES)
    })
  }

  async make(move: AttachmentMove): Promise<void> {
    const wanted = this.#wantedOf(move.index)
    switch (move.do) {
      case 'toggle':
        if (wanted.has(move.node)) return await this.#delete(move.index, move.node)
        if (isShared(move.index) || wanted.size === 0) await this.#create(move.index, move.node)
        return
      case 'move':
        for (const node of wanted) await this.#delete(move.index, node)
        return await this.#create(move.index, move.node)
      case 'again':
        return await this.#again(move)
      case 'volumeAgain':
        await stripped(this.#t, PERSISTENT_VOLUMES, { name: this.#volumeName(move.index) })
        return await this.#createVolume(move.index)
    }
  }

  /** Where the API and the driver do not agree, or something is under way. */
  async differences(backEnd: BackEnd): Promise<readonly Finding[]> {
    const attachments = await this.#mine()
    const left = new Map(attachments.map((each) => [each.metadata?.name ?? '', each]))
    const findings: Finding[] = []
    const expected = new Set<string>()
    for (const [index, nodes] of this.#wanted.entries()) {
      const handle = this.#handle(index)
      for (const node of nodes) {
        const name = this.#name(index, node)
        const trouble = this.#troubleOf(left.get(name))
        if (trouble !== undefined) findings.push({ handle, text: `${name} ${trouble}` })
        left.delete(name)
        expected.add(pairOf(handle, this.#nodeId(node)))
      }
    }
    for (const each of left.values()) {
      const handle = this.#handleOf(each)
      findings.push({ handle, text: `${each.metadata?.name} is left over: ${JSON.stringify(each)}` })
    }
    for (const pair of expected.difference(backEnd.published)) {
      findings.push({ handle: firstWord(pair), text: `${pair}: the driver has not published it` })
    }
    for (const pair of backEnd.published.difference(expected)) {
      findings.push({ handle: firstWord(pair), text: `${pair}: published, and no attachment is there` })
    }
    return findings
  }

  /** Somebody deletes all attachments. */
  async deleteAll(): Promise<void> {
    await inParallel(this.#wanted.length, async (index) => {
      for (const node of this.#wantedOf(index)) await this.#delete(index, node)
    })
  }

  /** And then the volumes, of which none may stay. */
  async deleteVolumes(): Promise<readonly Finding[]> {
    const refs = this.#wanted.map((_, index) => ({ index, name: this.#volumeName(index) }))
    await inParallel(refs.length, async (index) => {
      await refused(this.#t.api.delete(PERSISTENT_VOLUMES, { name: this.#volumeName(index) }))
    })
    const left = async () => {
      const names = new Set((await this.#t.api.list(PERSISTENT_VOLUMES)).map(({ metadata }) => metadata?.name))
      return refs.filter(({ name }) => names.has(name))
    }
    const gone = async (): Promise<boolean> => (await left()).length === 0
    await eventually('the end of all volumes', gone, { within: SEEN_WITHIN_MS, every: 500 }).catch(() => undefined)
    return (await left()).map(({ index, name }) => ({ handle: this.#handle(index), text: `${name} keeps a finalizer` }))
  }

  /**
   * Somebody removes the finalizer by hand, and the attachment is made again. Nobody deletes the new one before it has a
   * finalizer: if the attacher dies meanwhile nothing would be left that knows of the first publish.
   */
  async #again({ index, node }: AttachmentMove): Promise<void> {
    const wanted = this.#wantedOf(index)
    const which = wanted.has(node) ? node : [...wanted][0]
    if (which === undefined) return
    const name = this.#name(index, which)
    await stripped(this.#t, VOLUME_ATTACHMENTS, { name })
    await this.#create(index, which)
    await this.#t.api.until(VOLUME_ATTACHMENTS, { name }, ({ metadata }) => this.#isHeld(metadata), {
      within: SEEN_WITHIN_MS,
      every: 250,
    })
  }

  async #create(index: number, node: number): Promise<void> {
    const made = attachment(this.#name(index, node), this.#t.driverName, {
      pv: this.#volumeName(index),
      node: this.#nodeName(node),
    })
    if (!(await refused(this.#t.api.create(VOLUME_ATTACHMENTS, made)))) this.#wantedOf(index).add(node)
  }

  async #delete(index: number, node: number): Promise<void> {
    await refused(this.#t.api.delete(VOLUME_ATTACHMENTS, { name: this.#name(index, node) }))
    this.#wantedOf(index).delete(node)
  }

  async #createVolume(index: number): Promise<void> {
    const accessModes = [isShared(index) ? 'ReadWriteMany' : 'ReadWriteOnce']
    const made = volume(this.#volumeName(index), this.#t.driverName, {
      accessModes,
      csi: { volumeHandle: this.#handle(index) },
    })
    await this.#t.api.create(PERSISTENT_VOLUMES, made)
  }

  async #mine(): Promise<readonly VolumeAttachment[]> {
    return (await this.#t.api.list(VOLUME_ATTACHMENTS)).filter(({ spec }) => spec.attacher === this.#t.driverName)
  }

  #troubleOf(each: VolumeAttachment | undefined): string | undefined {
    if (each === undefined) return 'is not there'
    const { attached, attachError, detachError } = each.status ?? {}
    const well = attached === true && attachError === undefined && detachError === undefined
    if (well && each.metadata?.deletionTimestamp === undefined && this.#isHeld(each.metadata)) return undefined
    return `is not just attached: ${JSON.stringify(each)}`
  }

  #isHeld(metadata: VolumeAttachment['metadata']): boolean {
    return metadata?.finalizers?.includes(this.#finalizer) === true
  }

  #handleOf({ spec }: VolumeAttachment): string {
    return `${spec.source.persistentVolumeName}-handle`
  }

  #wantedOf(index: number): Set<number> {
    const wanted = this.#wanted[index]
    if (wanted === undefined) throw new Error(`there is no volume ${index}`)
    return wanted
  }

  #volumeName(index: number): string {
    return this.#t.name(`disk-${index}`)
  }

  #handle(index: number): string {
    return `${this.#volumeName(index)}-handle`
  }

  #name(index: number, node: number): string {
    return this.#t.name(`va-${index}-${node}`)
  }

  #nodeName(node: number): string {
    return this.#t.name(`node-${node}`)
  }

  #nodeId(node: number): string {
    return `${this.#nodeName(node)}-id`
  }
}

function firstWord(text: string): string {
  return text.split(' ')[0] ?? ''
}

import { FakeClock, invariant } from '@csi-sidecars/base'
import { CSI_NODES, PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS, type VolumeAttachment } from '@csi-sidecars/kube-types'
import { MIGRATED_TO_ANNOTATION } from '../../caches/names.ts'
import { DRIVER, FINALIZER } from '../views.ts'
import { ModelApi, type Stored } from './api.ts'
import { type Call, ModelStorage } from './driver.ts'
import { Process, type ProcessOptions } from './process.ts'

/** Volumes of every kind that an attachment can name; one of any other name is like `own`. */
export const VOLUMES = ['own', 'shared', 'inTree', 'foreign', 'inline']
export const NODES = ['n1', 'n2']

export const handleOf = (volume: string): string => `vol-${volume}`
export const nodeIdOf = (node: string): string => `${node}-id`
export const vaName = (volume: string, node: string): string => `${volume}.${node}`

const FOREIGN_FINALIZER = 'example.com/other'

/** A cluster, a storage and at most one attacher at a time; what may never happen is checked as it goes. */
export class World {
  readonly clock = new FakeClock()
  readonly api = new ModelApi()
  readonly storage = new ModelStorage()
  /** Every publish and unpublish, in the order in which they started. */
  readonly calls: Call[] = []
  process: Process | undefined
  /** Attachments of which the attacher could not know all: their success may have been followed by a failure. */
  readonly blurred = new Set<string>()
  /** Attachments, by uid, for which an unpublish has started. */
  readonly #unpublished = new Set<string>()
  #violation: unknown

  readonly #options: Pick<ProcessOptions, 'settings' | 'lists'>

  constructor(options: Partial<Pick<ProcessOptions, 'settings' | 'lists'>> = {}) {
    this.#options = { settings: {}, lists: true, ...options }
  }

  start(): void {
    if (this.process !== undefined) return
    const onCall = (call: Call, process: Process): void => this.#onCall(call, process)
    const { api, storage, clock } = this
    this.process = new Process({ api, storage, clock, onCall, ...this.#options })
  }

  kill(): void {
    this.process?.kill()
    this.process = undefined
  }

  /** The lease goes to another process, which starts afresh. */
  depose(): void {
    this.process?.depose()
    this.process = undefined
    this.start()
  }

  createAttachment(volume: string, node: string, held: boolean): void {
    const source = volume === 'inline' ? { inlineVolumeSpec: specOf('inline') } : { persistentVolumeName: volume }
    const metadata = { name: vaName(volume, node), ...(held && { finalizers: [FOREIGN_FINALIZER] }) }
    const object = { metadata, spec: { attacher: DRIVER, nodeName: node, source }, status: { attached: false } }
    this.api.create(VOLUME_ATTACHMENTS, object)
  }

  /** The foreign finalizer goes. */
  letGo(volume: string, node: string): void {
    const old = this.attachment(volume, node)?.metadata.finalizers
    if (old?.includes(FOREIGN_FINALIZER) !== true) return
    const finalizers = old.filter((name) => name !== FOREIGN_FINALIZER)
    this.api.edit(VOLUME_ATTACHMENTS, vaName(volume, node), {
      metadata: { finalizers: finalizers.length === 0 ? null : finalizers },
    })
  }

  createVolume(volume: string): void {
    if (volume === 'inline') return
    const annotations = volume === 'inTree' ? { annotations: { [MIGRATED_TO_ANNOTATION]: DRIVER } } : {}
    this.api.create(PERSISTENT_VOLUMES, { metadata: { name: volume, ...annotations }, ...{ spec: specOf(volume) } })
  }

  /** Migration is switched off for the in-tree volume. */
  giveBack(): void {
    this.api.edit(PERSISTENT_VOLUMES, 'inTree', { metadata: { annotations: null } })
  }

  createNode(node: string, withDriver: boolean): void {
    const drivers = withDriver ? [{ name: DRIVER, nodeID: nodeIdOf(node) }] : null
    this.api.create(CSI_NODES, { metadata: { name: node }, ...{ spec: { drivers } } })
    this.api.edit(CSI_NODES, node, { spec: { drivers } })
  }

  /** Somebody detaches the volume behind our back. Of an inline volume no comparison would ever find out. */
  forget(volume: string, node: string): void {
    if (volume === 'inline') return
    this.storage.perform({ method: 'unpublish', volumeId: handleOf(volume), nodeId: nodeIdOf(node) })
    this.blurred.add(vaName(volume, node))
  }

  attachment(volume: string, node: string): (Stored & VolumeAttachment) | undefined {
    return this.api.get(VOLUME_ATTACHMENTS, vaName(volume, node)) as (Stored & VolumeAttachment) | undefined
  }

  /** What holds at every moment: attached is only what an attachment with our finalizer answers for. */
  checkAlways(): void {
    if (this.#violation !== undefined) throw this.#violation
    for (const { volume, node } of pairs()) {
      if (!this.storage.has({ volumeId: handleOf(volume), nodeId: nodeIdOf(node) })) continue
      const claimed = isClaimed(this.attachment(volume, node))
      invariant(claimed, `${vaName(volume, node)} is attached at the driver, and no attachment knows`)
    }
    const bad = this.process?.log.lines.find(({ message }) => message.startsWith('Informer handler failed'))
    invariant(bad === undefined, `a handler threw: ${String(bad?.error)}`)
  }

  /** Thrown here it would be taken for an answer of the driver. */
  #onCall(call: Call, process: Process): void {
    this.calls.push(call)
    try {
      this.#check(call, process)
    } catch (error) {
      this.#violation ??= error
    }
  }

  #check(call: Call, { driver }: Process): void {
    const { method, volumeId, nodeId } = call
    for (const other of driver.inFlight) {
      const shares = other.volumeId === volumeId && (volumeId !== handleOf('shared') || other.nodeId === nodeId)
      invariant(!shares, `two calls at once for ${volumeId}: ${other.method} ${other.nodeId}, ${method} ${nodeId}`)
    }
    const va = this.attachment(volumeId.replace(/^vol-/, ''), nodeId.replace(/-id$/, ''))
    if (method === 'unpublish') {
      if (va?.metadata.deletionTimestamp !== undefined) this.#unpublished.add(va.metadata.uid)
      return
    }
    invariant(isClaimed(va), `${volumeId} is published without a claim that is stored`)
    invariant(va !== undefined && !this.#unpublished.has(va.metadata.uid), `${volumeId} is published after its detach`)
  }
}

export function pairs(): { volume: string; node: string }[] {
  return VOLUMES.flatMap((volume) => NODES.map((node) => ({ volume, node })))
}

export function isClaimed(object: Stored | undefined): boolean {
  return object?.metadata.finalizers?.includes(FINALIZER) === true
}

function specOf(volume: string): object {
  const accessModes = [volume === 'shared' ? 'ReadWriteMany' : 'ReadWriteOnce']
  if (volume === 'inTree') return { accessModes, awsElasticBlockStore: { volumeID: handleOf(volume) } }
  const driver = volume === 'foreign' ? 'other.example.com' : DRIVER
  return { accessModes, csi: { driver, volumeHandle: handleOf(volume) } }
}

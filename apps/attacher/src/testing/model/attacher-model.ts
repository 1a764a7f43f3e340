import { invariant } from '@csi-sidecars/base'
import { FakeClock } from '@csi-sidecars/base/testing'
import { type ApiError, apiErrorOf } from '@csi-sidecars/kube-client'
import {
  CSI_NODES,
  type KubeObject,
  PERSISTENT_VOLUMES,
  VOLUME_ATTACHMENTS,
  type VolumeAttachment,
} from '@csi-sidecars/kube-types'
import { FakeApi } from '@csi-sidecars/testkit'
import { MIGRATED_TO_ANNOTATION } from '../../caches/names.ts'
import { DRIVER, FINALIZER } from '../views.ts'
import { type Call, ModelStorage } from './driver.ts'
import { Process, type ProcessOptions } from './process.ts'

/** Volumes of every kind that an attachment can name; one of any other name is like `own`. */
export const VOLUMES = ['own', 'shared', 'in-tree', 'foreign', 'inline']
export const NODES = ['n1', 'n2']

export const handleOf = (volume: string): string => `vol-${volume}`
export const nodeIdOf = (node: string): string => `${node}-id`
/** An object that is recreated under its name is another thing to the driver: `vol-own` and `vol-own~`, in turn. */
const otherOf = (id: string): string => (id.endsWith('~') ? id.slice(0, -1) : `${id}~`)
const baseOf = (id: string): string => id.replace('~', '')
export const vaName = (volume: string, node: string): string => `${volume}.${node}`

const FOREIGN_FINALIZER = 'example.com/other'

type ModelOptions = Pick<ProcessOptions, 'settings' | 'lists'>

/** A cluster, a storage and at most one attacher at a time; what may never happen is checked as it goes. */
export class AttacherModel {
  readonly clock = new FakeClock()
  readonly api: FakeApi<ApiError>
  readonly storage = new ModelStorage()
  /** Every publish and unpublish, in the order in which they started. */
  readonly calls: Call[] = []
  process: Process | undefined
  /** Attachments of which the attacher could not know all: their success may have been followed by a failure. */
  readonly blurred = new Set<string>()
  /** Attachments of which the object, the volume or the node was recreated: the API alone does not say where they are. */
  readonly remade = new Set<string>()
  readonly remadeVolumes = new Set<string>()
  /** What is attached without the process that runs now having published it, as `handle on node id`. */
  readonly #forgotten = new Set<string>()
  /** Attachments, by uid, for which an unpublish has started. */
  readonly #unpublished = new Set<string>()
  #violation: unknown

  readonly #options: ModelOptions

  constructor({ validates = true, ...options }: Partial<ModelOptions> & { readonly validates?: boolean } = {}) {
    this.api = new FakeApi({ clock: this.clock, errorOf: apiErrorOf, validates })
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
    this.#forgetProcess()
  }

  /** The lease goes to another process, which starts afresh. */
  depose(): void {
    this.process?.depose()
    this.#forgetProcess()
    this.start()
  }

  #forgetProcess(): void {
    this.process = undefined
    for (const { volumeId, nodeId } of this.storage.pairs()) this.#forgotten.add(`${volumeId} on ${nodeId}`)
  }

  createAttachment(volume: string, node: string, held: boolean): void {
    const source = volume === 'inline' ? { inlineVolumeSpec: specOf('inline') } : { persistentVolumeName: volume }
    const metadata = { name: vaName(volume, node), ...(held && { finalizers: [FOREIGN_FINALIZER] }) }
    const object = { metadata, spec: { attacher: DRIVER, nodeName: node, source }, status: { attached: false } }
    if (this.attachment(volume, node) === undefined) this.api.put(VOLUME_ATTACHMENTS, object)
  }

  /** A user removes all finalizers, and it is deleted. It may be recreated at once. */
  strip(volume: string, node: string, again: boolean): void {
    const name = vaName(volume, node)
    if (this.attachment(volume, node) === undefined) return
    this.remade.add(name)
    this.api.edit(VOLUME_ATTACHMENTS, { name }, { metadata: { finalizers: null } })
    this.api.delete(VOLUME_ATTACHMENTS, { name })
    if (again) this.createAttachment(volume, node, false)
  }

  /** The same to a volume, which comes back with another handle. */
  remakeVolume(volume: string): void {
    const handle = this.handleNow(volume)
    if (handle === undefined) return
    this.remadeVolumes.add(volume)
    for (const node of NODES) this.remade.add(vaName(volume, node))
    this.removeVolume(volume)
    this.createVolume(volume, otherOf(handle))
  }

  /** A user deletes it and removes its finalizers. */
  removeVolume(volume: string): void {
    this.api.delete(PERSISTENT_VOLUMES, { name: volume })
    this.api.edit(PERSISTENT_VOLUMES, { name: volume }, { metadata: { finalizers: null } })
  }

  /** The driver comes back to the node under another id. */
  remakeNode(node: string): void {
    const nodeId = this.nodeIdNow(node)
    if (nodeId === undefined) return
    for (const volume of VOLUMES) this.remade.add(vaName(volume, node))
    this.api.edit(CSI_NODES, { name: node }, { spec: { drivers: [{ name: DRIVER, nodeID: otherOf(nodeId) }] } })
  }

  /** The handle that the volume has now. */
  handleNow(volume: string): string | undefined {
    const { csi, awsElasticBlockStore } = (this.api.server.get(PERSISTENT_VOLUMES, { name: volume })?.spec ??
      {}) as Spec
    return csi?.volumeHandle ?? awsElasticBlockStore?.volumeID
  }

  /** The id that the node has now. */
  nodeIdNow(node: string): string | undefined {
    const { drivers } = (this.api.server.get(CSI_NODES, { name: node })?.spec ?? {}) as {
      drivers?: { nodeID: string }[] | null
    }
    return drivers?.[0]?.nodeID
  }

  /** The foreign finalizer goes. */
  removeForeignFinalizer(volume: string, node: string): void {
    const old = this.attachment(volume, node)?.metadata?.finalizers
    if (old?.includes(FOREIGN_FINALIZER) !== true) return
    const finalizers = old.filter((name) => name !== FOREIGN_FINALIZER)
    this.api.edit(
      VOLUME_ATTACHMENTS,
      { name: vaName(volume, node) },
      {
        metadata: { finalizers: finalizers.length === 0 ? null : finalizers },
      },
    )
  }

  createVolume(volume: string, handle = handleOf(volume)): void {
    if (volume === 'inline' || this.handleNow(volume) !== undefined) return
    const annotations = volume === 'in-tree' ? { annotations: { [MIGRATED_TO_ANNOTATION]: DRIVER } } : {}
    this.api.put(PERSISTENT_VOLUMES, {
      metadata: { name: volume, ...annotations },
      ...{ spec: specOf(volume, handle) },
    })
  }

  /** Migration is switched off for the in-tree volume. */
  giveBack(): void {
    this.api.edit(PERSISTENT_VOLUMES, { name: 'in-tree' }, { metadata: { annotations: null } })
  }

  createNode(node: string, withDriver: boolean): void {
    const drivers = withDriver ? [{ name: DRIVER, nodeID: nodeIdOf(node) }] : []
    this.api.put(CSI_NODES, { metadata: { name: node }, spec: { drivers } })
  }

  /** A driver that says so of an unpublish, by its label, has the volume nowhere. */
  notFound(label: string): void {
    const [, method, volumeId = '', nodeId = ''] = label.split(' ')
    if (method === 'unpublish') this.storage.perform({ method, volumeId, nodeId })
  }

  /** The back end detaches the volume by itself. No comparison would ever find this out for an inline volume. */
  forget(volume: string, node: string): void {
    if (volume === 'inline') return
    this.storage.perform({ method: 'unpublish', volumeId: handleOf(volume), nodeId: nodeIdOf(node) })
    this.blurred.add(vaName(volume, node))
  }

  attachment(volume: string, node: string): VolumeAttachment | undefined {
    return this.api.server.get(VOLUME_ATTACHMENTS, { name: vaName(volume, node) })
  }

  /** Where an attachment's volume is, under whatever handle and node id. */
  attachedFor(volume: string, node: string): readonly Omit<Call, 'method'>[] {
    return this.storage.pairs().filter(({ volumeId, nodeId }) => {
      return baseOf(volumeId) === handleOf(volume) && baseOf(nodeId) === nodeIdOf(node)
    })
  }

  /** Nothing could know of it: it was recreated, and the process that has published it runs no more. */
  isLost({ volumeId, nodeId }: Omit<Call, 'method'>): boolean {
    const name = vaName(baseOf(volumeId).slice('vol-'.length), baseOf(nodeId).slice(0, -'-id'.length))
    return this.remade.has(name) && this.#forgotten.has(`${volumeId} on ${nodeId}`)
  }

  /** What holds at every moment: attached is only what has an attachment with our finalizer. */
  checkAlways(): void {
    if (this.#violation !== undefined) throw this.#violation
    for (const { volume, node } of pairs()) {
      const name = vaName(volume, node)
      if (this.remade.has(name) || this.attachedFor(volume, node).length === 0) continue
      const known = hasFinalizer(this.attachment(volume, node))
      invariant(known, `${name} is attached at the driver, and no attachment knows`)
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
    const forManyNodes = baseOf(volumeId) === handleOf('shared')
    for (const other of driver.inFlight) {
      if (other.volumeId !== volumeId) continue
      const sameNode = baseOf(other.nodeId) === baseOf(nodeId)
      const twoPublishes = method === 'publish' && other.method === 'publish' && !forManyNodes
      invariant(
        !sameNode && !twoPublishes,
        `two calls at once for ${volumeId}: ${other.method} ${other.nodeId}, ${method} ${nodeId}`,
      )
    }
    if (method === 'publish') this.#forgotten.delete(`${volumeId} on ${nodeId}`)
    const name = vaName(baseOf(volumeId).replace(/^vol-/, ''), baseOf(nodeId).replace(/-id$/, ''))
    if (this.remade.has(name)) return
    const va = this.api.server.get(VOLUME_ATTACHMENTS, { name })
    if (method === 'unpublish') {
      if (va?.metadata?.deletionTimestamp !== undefined) this.#unpublished.add(va.metadata.uid ?? '')
      return
    }
    invariant(hasFinalizer(va), `${volumeId} is published without a finalizer that is stored`)
    invariant(
      va !== undefined && !this.#unpublished.has(va.metadata?.uid ?? ''),
      `${volumeId} is published after its detach`,
    )
  }
}

interface Spec {
  readonly csi?: { readonly volumeHandle: string }
  readonly awsElasticBlockStore?: { readonly volumeID: string }
}

export function pairs(): { volume: string; node: string }[] {
  return VOLUMES.flatMap((volume) => NODES.map((node) => ({ volume, node })))
}

export function hasFinalizer(object: KubeObject | undefined): boolean {
  return object?.metadata?.finalizers?.includes(FINALIZER) === true
}

function specOf(volume: string, volumeHandle = handleOf(volume)): object {
  const accessModes = [volume === 'shared' ? 'ReadWriteMany' : 'ReadWriteOnce']
  const capacity = { storage: '1Gi' }
  if (volume === 'in-tree') return { accessModes, capacity, awsElasticBlockStore: { volumeID: volumeHandle } }
  const driver = volume === 'foreign' ? 'other.example.com' : DRIVER
  if (volume === 'inline') return { accessModes, csi: { driver: DRIVER, volumeHandle } }
  return { accessModes, capacity, csi: { driver, volumeHandle } }
}

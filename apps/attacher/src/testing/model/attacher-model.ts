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
import { MIGRATED_TO_ANNOTATION } from '../../caches/volume.ts'
import { DRIVER, FINALIZER } from '../views.ts'
import { AttacherModelStorage, type PublishCall } from './driver.ts'
import { AttacherProcess, type AttacherProcessOptions } from './process.ts'

/** One volume of each kind. A volume of any other name is a CSI volume of this driver, like `own`. */
export const VOLUMES = ['own', 'shared', 'in-tree', 'foreign', 'inline']
export const NODES = ['n1', 'n2']

export const handleOf = (volume: string): string => `vol-${volume}`
export const nodeIdOf = (node: string): string => `${node}-id`
/** Returns the ID of a recreated volume or node. It alternates, for example between `vol-own` and `vol-own~`. */
const otherOf = (id: string): string => (id.endsWith('~') ? id.slice(0, -1) : `${id}~`)
const baseOf = (id: string): string => id.replace('~', '')
export const vaName = (volume: string, node: string): string => `${volume}.${node}`

const FOREIGN_FINALIZER = 'example.com/other'

type ModelOptions = Pick<AttacherProcessOptions, 'settings' | 'lists'>

/** A cluster, a storage and at most one attacher at a time. Each call and each state is checked. */
export class AttacherModel {
  readonly clock = new FakeClock()
  readonly api: FakeApi<ApiError>
  readonly storage = new AttacherModelStorage()
  /** All publishes and unpublishes, in the order in which they started. */
  readonly calls: PublishCall[] = []
  process: AttacherProcess | undefined
  /** The attachments whose volume the storage has detached by itself. The next attach may leave `attachError` set. */
  readonly blurred = new Set<string>()
  /** Attachments that were recreated, or whose handle or node ID changed. The API may lack their old publications. */
  readonly remade = new Set<string>()
  readonly remadeVolumes = new Set<string>()
  /** The publications of earlier attacher processes, as the text `HANDLE on NODE_ID`. */
  readonly #forgotten = new Set<string>()
  /** The UIDs of the attachments whose unpublish has started. */
  readonly #unpublished = new Set<string>()
  #violation: unknown

  readonly #options: ModelOptions

  constructor({ validates = true, ...options }: Partial<ModelOptions> & { readonly validates?: boolean } = {}) {
    this.api = new FakeApi({ clock: this.clock, errorOf: apiErrorOf, validates })
    this.#options = { settings: {}, lists: true, ...options }
  }

  start(): void {
    if (this.process !== undefined) return
    const onCall = (call: PublishCall, process: AttacherProcess): void => this.#onCall(call, process)
    const { api, storage, clock } = this
    this.process = new AttacherProcess({ api, storage, clock, onCall, ...this.#options })
  }

  kill(): void {
    this.process?.kill()
    this.#forgetProcess()
  }

  /** Gives the lease to a new process. */
  depose(): void {
    this.process?.depose()
    this.#forgetProcess()
    this.start()
  }

  #forgetProcess(): void {
    this.process = undefined
    for (const { volumeId, nodeId } of this.storage.pairs()) this.#forgotten.add(`${volumeId} on ${nodeId}`)
  }

  createAttachment(volume: string, node: string, hasForeignFinalizer: boolean): void {
    const source = volume === 'inline' ? { inlineVolumeSpec: specOf('inline') } : { persistentVolumeName: volume }
    const metadata = { name: vaName(volume, node), ...(hasForeignFinalizer && { finalizers: [FOREIGN_FINALIZER] }) }
    const object = { metadata, spec: { attacher: DRIVER, nodeName: node, source }, status: { attached: false } }
    if (this.attachment(volume, node) === undefined) this.api.store(VOLUME_ATTACHMENTS, object)
  }

  /** Removes all finalizers of an attachment and deletes it. With `again` it is recreated at once. */
  strip(volume: string, node: string, again: boolean): void {
    const name = vaName(volume, node)
    if (this.attachment(volume, node) === undefined) return
    this.remade.add(name)
    this.api.edit(VOLUME_ATTACHMENTS, { name }, { metadata: { finalizers: null } })
    this.api.delete(VOLUME_ATTACHMENTS, { name })
    if (again) this.createAttachment(volume, node, false)
  }

  /** Deletes a volume, removes its finalizers, and recreates it with another handle. */
  remakeVolume(volume: string): void {
    const handle = this.handleNow(volume)
    if (handle === undefined) return
    this.remadeVolumes.add(volume)
    for (const node of NODES) this.remade.add(vaName(volume, node))
    this.removeVolume(volume)
    this.createVolume(volume, otherOf(handle))
  }

  /** Deletes a volume and removes its finalizers. */
  removeVolume(volume: string): void {
    this.api.delete(PERSISTENT_VOLUMES, { name: volume })
    this.api.edit(PERSISTENT_VOLUMES, { name: volume }, { metadata: { finalizers: null } })
  }

  /** Registers the driver on the node with another ID. */
  remakeNode(node: string): void {
    const nodeId = this.nodeIdNow(node)
    if (nodeId === undefined) return
    for (const volume of VOLUMES) this.remade.add(vaName(volume, node))
    this.api.edit(CSI_NODES, { name: node }, { spec: { drivers: [{ name: DRIVER, nodeID: otherOf(nodeId) }] } })
  }

  /** Returns the current handle of the volume. */
  handleNow(volume: string): string | undefined {
    const { csi, awsElasticBlockStore } = (this.api.server.get(PERSISTENT_VOLUMES, { name: volume })?.spec ??
      {}) as Spec
    return csi?.volumeHandle ?? awsElasticBlockStore?.volumeID
  }

  /** Returns the current ID of the node. */
  nodeIdNow(node: string): string | undefined {
    const { drivers } = (this.api.server.get(CSI_NODES, { name: node })?.spec ?? {}) as {
      drivers?: { nodeID: string }[] | null
    }
    return drivers?.[0]?.nodeID
  }

  /** Removes the finalizer of another writer from an attachment. */
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
    this.api.store(PERSISTENT_VOLUMES, {
      metadata: { name: volume, ...annotations },
      ...{ spec: specOf(volume, handle) },
    })
  }

  /** Switches migration off for the in-tree volume. */
  giveBack(): void {
    this.api.edit(PERSISTENT_VOLUMES, { name: 'in-tree' }, { metadata: { annotations: null } })
  }

  createNode(node: string, withDriver: boolean): void {
    const drivers = withDriver ? [{ name: DRIVER, nodeID: nodeIdOf(node) }] : []
    this.api.store(CSI_NODES, { metadata: { name: node }, spec: { drivers } })
  }

  /** Removes the publication from the storage before the driver answers an unpublish with NotFound. */
  notFound(label: string): void {
    const [, method, volumeId = '', nodeId = ''] = label.split(' ')
    if (method === 'unpublish') this.storage.perform({ method, volumeId, nodeId })
  }

  /** Detaches the volume in the storage. Inline volumes are excluded, because no listing shows their detach. */
  forget(volume: string, node: string): void {
    if (volume === 'inline') return
    this.storage.perform({ method: 'unpublish', volumeId: handleOf(volume), nodeId: nodeIdOf(node) })
    this.blurred.add(vaName(volume, node))
  }

  attachment(volume: string, node: string): VolumeAttachment | undefined {
    return this.api.server.get(VOLUME_ATTACHMENTS, { name: vaName(volume, node) })
  }

  /** Returns all publications of an attachment's volume, under any handle and node ID. */
  attachedFor(volume: string, node: string): readonly Omit<PublishCall, 'method'>[] {
    return this.storage.pairs().filter(({ volumeId, nodeId }) => {
      return baseOf(volumeId) === handleOf(volume) && baseOf(nodeId) === nodeIdOf(node)
    })
  }

  /** Reports whether no process can know a publication: its API objects were recreated and its publisher has ended. */
  isLost({ volumeId, nodeId }: Omit<PublishCall, 'method'>): boolean {
    const name = vaName(baseOf(volumeId).slice('vol-'.length), baseOf(nodeId).slice(0, -'-id'.length))
    return this.remade.has(name) && this.#forgotten.has(`${volumeId} on ${nodeId}`)
  }

  /** Checks the rule that holds at each moment: a published volume has an attachment with our finalizer. */
  checkAlways(): void {
    if (this.#violation !== undefined) throw this.#violation
    for (const { volume, node } of pairs()) {
      const name = vaName(volume, node)
      if (this.remade.has(name) || this.attachedFor(volume, node).length === 0) continue
      const isFinalized = hasFinalizer(this.attachment(volume, node))
      invariant(isFinalized, `${name} is attached in the back end, and no attachment knows`)
    }
    const bad = this.process?.log.lines.find(({ message }) => message.startsWith('Informer handler failed'))
    invariant(bad === undefined, `a handler threw: ${String(bad?.error)}`)
  }

  /** Checks a CSI call. The error is stored, because the attacher would take a thrown error for the driver's answer. */
  #onCall(call: PublishCall, process: AttacherProcess): void {
    this.calls.push(call)
    try {
      this.#check(call, process)
    } catch (error) {
      this.#violation ??= error
    }
  }

  #check(call: PublishCall, { driver }: AttacherProcess): void {
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

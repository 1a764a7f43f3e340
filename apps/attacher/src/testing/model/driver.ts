import { CODES, type Driver, type DriverEvent, RpcError } from '@csi-sidecars/csi'
import {
  ControllerPublishVolume,
  type ControllerPublishVolumeRequest,
  ControllerUnpublishVolume,
  type ControllerUnpublishVolumeRequest,
  type ListVolumesResponse,
  ControllerServiceCapability_RPC_Type as Rpc,
  type UnaryMethod,
} from '@csi-sidecars/csi-proto'
import type { StepGate } from '@csi-sidecars/testkit'
import { DRIVER } from '../views.ts'

const LISTING = [Rpc.LIST_VOLUMES, Rpc.LIST_VOLUMES_PUBLISHED_NODES]

/** A ControllerPublishVolume or ControllerUnpublishVolume call of the attacher, reduced to its volume and node. */
export interface PublishCall {
  readonly method: 'publish' | 'unpublish'
  readonly volumeId: string
  readonly nodeId: string
}

/** The listener and the ability of the driver that one attacher process connects to. */
export interface AttacherModelDriverOptions {
  /** Called when a publish or an unpublish starts. */
  readonly onCall: (call: PublishCall) => void
  /** True if the driver lists volumes with the nodes that they are published to. */
  readonly lists: boolean
}

/** The storage behind the driver. It outlives all processes. */
export class AttacherModelStorage {
  readonly attached = new Map<string, Set<string>>()

  has({ volumeId, nodeId }: Omit<PublishCall, 'method'>): boolean {
    return this.attached.get(volumeId)?.has(nodeId) === true
  }

  /** Returns all publications. */
  pairs(): Omit<PublishCall, 'method'>[] {
    return [...this.attached].flatMap(([volumeId, nodes]) => [...nodes].map((nodeId) => ({ volumeId, nodeId })))
  }

  perform({ method, volumeId, nodeId }: PublishCall): void {
    const nodes = this.attached.get(volumeId) ?? new Set()
    if (method === 'publish') nodes.add(nodeId)
    else nodes.delete(nodeId)
    this.attached.set(volumeId, nodes)
  }
}

/** The CSI driver as one attacher process sees it. */
export class ModelDriver {
  readonly inFlight = new Set<PublishCall>()
  readonly #storage: AttacherModelStorage
  readonly #gate: StepGate
  readonly #onCall: (call: PublishCall) => void
  readonly #listeners = new Set<(event: DriverEvent) => void>()
  readonly #lists: boolean
  #lost = false

  constructor(storage: AttacherModelStorage, gate: StepGate, { onCall, lists }: AttacherModelDriverOptions) {
    this.#storage = storage
    this.#gate = gate
    this.#onCall = onCall
    this.#lists = lists
  }

  /** Breaks the connection: calls in flight fail, whether the driver has performed them or not. */
  lose(): void {
    if (this.#lost) return
    this.#lost = true
    this.#report({ type: 'lost' })
    for (const each of [...this.#gate.inFlight]) {
      if (each.label.startsWith('call ')) each.answer(new RpcError(CODES.Unavailable, 'connection lost'))
    }
  }

  comeBack(): void {
    if (!this.#lost) return
    this.#lost = false
    this.#report({ type: 'ready', lostForMs: 1 })
  }

  get driver(): Driver {
    const isLost = (): boolean => this.#lost
    const call = <Q, R>(method: UnaryMethod<Q, R>, request: Q, options: { signal?: AbortSignal | undefined }) =>
      this.#call(method as UnaryMethod<unknown, unknown>, request, options) as Promise<R>
    return {
      name: DRIVER,
      capabilities: {
        plugin: { services: new Set(), volumeExpansion: new Set() },
        controllerService: true,
        controller: new Set([Rpc.PUBLISH_UNPUBLISH_VOLUME, ...(this.#lists ? LISTING : [])]),
      },
      get state() {
        return isLost() ? ('lost' as const) : ('ready' as const)
      },
      lostForMs: 0,
      failure: new Promise(() => {}),
      call,
      subscribe: (listener) => {
        this.#listeners.add(listener)
        return () => this.#listeners.delete(listener)
      },
      close: () => {},
    }
  }

  #call(
    method: UnaryMethod<unknown, unknown>,
    request: unknown,
    { signal }: { signal?: AbortSignal | undefined },
  ): Promise<unknown> {
    if (this.#lost) return Promise.reject(new RpcError(CODES.Unavailable, 'connection to the CSI driver lost'))
    const onAbort = (cause: unknown): Error => new RpcError(CODES.Canceled, 'context canceled', { cause })
    const options = { signal, onAbort }
    const kind = kindOf(method)
    if (kind === undefined)
      return this.#gate.pass({ label: 'call list', write: false }, async () => this.#list(), options)
    const { volumeId, nodeId } = request as ControllerPublishVolumeRequest | ControllerUnpublishVolumeRequest
    const call: PublishCall = { method: kind, volumeId, nodeId }
    if (!this.#gate.isClosed) this.#onCall(call)
    this.inFlight.add(call)
    const perform = async (): Promise<object> => {
      this.#storage.perform(call)
      return { publishContext: kind === 'publish' ? { at: nodeId } : {} }
    }
    const label = `call ${kind} ${volumeId} ${nodeId}`
    return this.#gate.pass({ label, write: true }, perform, options).finally(() => this.inFlight.delete(call))
  }

  #list(): ListVolumesResponse {
    const entries = [...this.#storage.attached].map(([volumeId, nodes]) => ({
      volume: { volumeId, capacityBytes: 0n, volumeContext: {}, contentSource: undefined, accessibleTopology: [] },
      status: { publishedNodeIds: [...nodes] },
    }))
    return { entries, nextToken: '' } as unknown as ListVolumesResponse
  }

  #report(event: DriverEvent): void {
    for (const listener of this.#listeners) listener(event)
  }
}

function kindOf(method: UnaryMethod<unknown, unknown>): PublishCall['method'] | undefined {
  if (method.path === ControllerPublishVolume.path) return 'publish'
  return method.path === ControllerUnpublishVolume.path ? 'unpublish' : undefined
}

import { CODES, type Driver, type DriverEvent, RpcError } from '@csi-sidecars/csi'
import {
  type CreateSnapshotRequest,
  type CreateVolumeGroupSnapshotRequest,
  type DeleteSnapshotRequest,
  type DeleteVolumeGroupSnapshotRequest,
  type GetVolumeGroupSnapshotRequest,
  type ListSnapshotsRequest,
  ControllerServiceCapability_RPC_Type as Rpc,
  type Snapshot,
  type UnaryMethod,
} from '@csi-sidecars/csi-proto'
import type { StepGate } from '@csi-sidecars/testkit'
import { DRIVER } from './objects.ts'

interface Stored {
  readonly id: string
  /** The name of the snapshot. Empty for a pre-provisioned snapshot. */
  readonly name: string
  readonly volumes: readonly string[]
  readonly members: readonly string[]
  /** The parameters of the creation, as JSON. */
  readonly parameters?: string
}

/** The storage behind the driver. It outlives every process of the snapshotter. */
export class Storage {
  readonly snapshots = new Map<string, Stored>()
  /** The names of all snapshots that were ever created. */
  readonly created: string[] = []
  readonly deleted: string[] = []
  /** The names of snapshots for which the driver accepts other parameters, because no process knows the first ones. */
  readonly acceptsAnyParameters = new Set<string>()
  ready = true
  /** True if the driver has the capability LIST_SNAPSHOTS. */
  lists = true

  add(id: string, members: readonly string[] = []): void {
    this.snapshots.set(id, { id, name: '', volumes: ['vol-1'], members })
  }

  /** Creates a snapshot, or returns the snapshot of this name. Refuses a known name with other parameters. */
  create(name: string, volumes: readonly string[], parameters: object = {}): Stored {
    const existing = [...this.snapshots.values()].find((each) => each.name === name)
    const text = JSON.stringify(parameters)
    if (existing !== undefined) {
      if ((existing.parameters ?? text) === text || this.acceptsAnyParameters.has(name)) return existing
      throw new RpcError(CODES.AlreadyExists, `${name} has other parameters`)
    }
    const id = `snap-${this.created.length + 1}`
    const members = volumes.length > 1 ? volumes.map((volume) => `${id}/${volume}`) : []
    const stored = { id, name, volumes, members, parameters: text }
    this.created.push(name)
    this.snapshots.set(id, stored)
    return stored
  }

  /** Removes a snapshot whose creation the driver has given up. */
  abandon(name: string): void {
    for (const [id, each] of this.snapshots) if (each.name === name) this.snapshots.delete(id)
  }

  delete(id: string): void {
    if (this.snapshots.delete(id)) this.deleted.push(id)
  }

  described(id: string, volume = 'vol-1'): Snapshot {
    const creationTime = { seconds: 1_700_000_000n, nanos: 5 }
    const rest = { sizeBytes: 1024n, groupSnapshotId: '', accessibleTopology: [] }
    return { snapshotId: id, sourceVolumeId: volume, creationTime, readyToUse: this.ready, ...rest }
  }

  describedGroup({ id, volumes, members }: Stored): object {
    return {
      groupSnapshotId: id,
      creationTime: { seconds: 1_700_000_000n, nanos: 5 },
      readyToUse: this.ready,
      snapshots: members.map((member, index) => this.described(member, volumes[index])),
    }
  }
}

/** A CSI call that the snapshotter has sent to the driver of the test. `method` is a name such as `CreateSnapshot`. */
export interface SeenCall {
  readonly method: string
  readonly request: unknown
  /** The time limit of the call. Undefined if the caller sets none. */
  readonly timeoutMs: number | undefined
}

/** Returns or throws the answer to a call. Returns undefined for the normal answer of the driver. */
export type Script = (request: never) => unknown

/** The driver of one snapshotter process. Every call except GetPluginInfo waits until the test answers it. */
export class GatedDriver {
  readonly #storage: Storage
  readonly #gate: StepGate
  readonly #onCall: (call: SeenCall) => void
  readonly #listeners = new Set<(event: DriverEvent) => void>()
  readonly scripts: ReadonlyMap<string, Script>
  #lost = false

  constructor(
    { storage, gate }: { readonly storage: Storage; readonly gate: StepGate },
    scripts: ReadonlyMap<string, Script>,
    onCall: (call: SeenCall) => void,
  ) {
    this.#storage = storage
    this.#gate = gate
    this.scripts = scripts
    this.#onCall = onCall
  }

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
    return {
      name: DRIVER,
      capabilities: {
        plugin: { services: new Set(), volumeExpansion: new Set() },
        controllerService: false,
        controller: new Set([Rpc.CREATE_DELETE_SNAPSHOT, ...(this.#storage.lists ? [Rpc.LIST_SNAPSHOTS] : [])]),
      },
      get state() {
        return isLost() ? ('lost' as const) : ('ready' as const)
      },
      lostForMs: 0,
      failure: new Promise(() => {}),
      call: (method, request, options) => this.#call({ method, request, options }) as never,
      subscribe: (listener) => {
        this.#listeners.add(listener)
        return () => this.#listeners.delete(listener)
      },
      close: () => {},
    }
  }

  #call({ method, request, options }: Sent): Promise<unknown> {
    if (this.#lost) return Promise.reject(new RpcError(CODES.Unavailable, 'connection to the CSI driver lost'))
    const name = method.path.slice(method.path.lastIndexOf('/') + 1)
    if (name === 'GetPluginInfo') return this.#answer(name, request)
    if (!this.#gate.isClosed) this.#onCall({ method: name, request, timeoutMs: options.timeoutMs })
    const onAbort = (cause: unknown): Error => new RpcError(CODES.Canceled, 'context canceled', { cause })
    const { name: requestedName = '', snapshotId = requestedName } = request as { name?: string; snapshotId?: string }
    const outgoing = { label: `call ${name} ${snapshotId}`, write: true }
    return this.#gate.pass(outgoing, () => this.#answer(name, request), { signal: options.signal, onAbort })
  }

  async #answer(name: string, request: unknown): Promise<unknown> {
    const scripted = await this.scripts.get(name)?.(request as never)
    return scripted ?? this.#ownAnswer(name, request)
  }

  #ownAnswer(name: string, request: unknown): unknown {
    const storage = this.#storage
    switch (name) {
      case 'GetPluginInfo':
        return { name: DRIVER }
      case 'CreateSnapshot': {
        const { name: requestedName, sourceVolumeId, parameters } = request as CreateSnapshotRequest
        return { snapshot: storage.described(storage.create(requestedName, [sourceVolumeId], parameters).id) }
      }
      case 'DeleteSnapshot':
        storage.delete((request as DeleteSnapshotRequest).snapshotId)
        return {}
      case 'ListSnapshots': {
        const { snapshotId } = request as ListSnapshotsRequest
        const entries = storage.snapshots.has(snapshotId) ? [{ snapshot: storage.described(snapshotId) }] : []
        return { entries, nextToken: '' }
      }
      case 'CreateVolumeGroupSnapshot': {
        const { name: requestedName, sourceVolumeIds } = request as CreateVolumeGroupSnapshotRequest
        return { groupSnapshot: storage.describedGroup(storage.create(requestedName, sourceVolumeIds)) }
      }
      case 'DeleteVolumeGroupSnapshot':
        storage.delete((request as DeleteVolumeGroupSnapshotRequest).groupSnapshotId)
        return {}
      case 'GetVolumeGroupSnapshot': {
        const stored = storage.snapshots.get((request as GetVolumeGroupSnapshotRequest).groupSnapshotId)
        if (stored === undefined) throw new RpcError(CODES.NotFound, 'no such group')
        return { groupSnapshot: storage.describedGroup(stored) }
      }
      default:
        throw new RpcError(CODES.Unimplemented, `${name} is not implemented`)
    }
  }

  #report(event: DriverEvent): void {
    for (const listener of this.#listeners) listener(event)
  }
}

interface Sent {
  readonly method: Pick<UnaryMethod<unknown, unknown>, 'path'>
  readonly request: unknown
  readonly options: { readonly signal?: AbortSignal | undefined; readonly timeoutMs?: number | undefined }
}

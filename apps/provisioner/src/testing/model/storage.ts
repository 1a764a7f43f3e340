import { CODES, type Driver, type DriverEvent, RpcError } from '@csi-sidecars/csi'
import {
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  CreateVolume,
  type CreateVolumeRequest,
  type DeleteVolumeRequest,
  PluginCapability_Service_Type as PluginService,
  type UnaryMethod,
  type Volume,
} from '@csi-sidecars/csi-proto'
import type { StepGate } from '@csi-sidecars/testkit'

export const DRIVER = 'csi.example.com'

/** The storage behind the driver. It outlives every process of the provisioner. */
export class ModelStorage {
  /** The names of the volumes, by their handles. */
  readonly volumes = new Map<string, string>()
  /** The names of volumes whose creation the driver continues after a call without an answer. */
  readonly late = new Set<string>()
  #next = 1

  create(name: string): string {
    const known = this.handleOf(name)
    this.late.delete(name)
    if (known !== undefined) return known
    const handle = `vol-${this.#next++}`
    this.volumes.set(handle, name)
    return handle
  }

  handleOf(name: string): string | undefined {
    return [...this.volumes].find(([, each]) => each === name)?.[0]
  }

  delete(handle: string): void {
    this.volumes.delete(handle)
  }
}

export interface ModelDriverOptions {
  readonly storage: ModelStorage
  readonly gate: StepGate
  /** Called when a DeleteVolume call takes effect. */
  readonly onDelete: (handle: string, request: DeleteVolumeRequest) => void | Promise<void>
  readonly onCreate: (name: string, request: CreateVolumeRequest) => void
  /** Further capabilities of the driver. */
  readonly controller?: readonly ControllerRpc[]
  /** Changes the volume in the answer to CreateVolume. */
  readonly answer?: (volume: Volume) => Partial<Volume> | undefined
}

/** Returns the driver as one process of the provisioner sees it. */
export function modelDriver(options: ModelDriverOptions): Driver {
  const { storage, gate, onDelete, onCreate, controller = [], answer = (volume) => volume } = options
  const creating = new Set<string>()
  const call = (method: UnaryMethod<unknown, unknown>, request: unknown, signal?: AbortSignal): Promise<unknown> => {
    const onAbort = (cause: unknown): Error => new RpcError(CODES.Canceled, 'context canceled', { cause })
    if (method.path === CreateVolume.path) {
      const creation = request as CreateVolumeRequest
      const { name, capacityRange, volumeContentSource: contentSource } = creation
      if (creating.has(name)) throw new Error(`two creations of ${name} at once`)
      creating.add(name)
      if (!gate.isClosed) onCreate(name, creation)
      const effect = async (): Promise<object> => ({
        volume: answer({
          volumeId: storage.create(name),
          capacityBytes: capacityRange?.requiredBytes ?? 0n,
          volumeContext: {},
          contentSource,
          accessibleTopology: [],
        }),
      })
      const passing = gate.pass({ label: `call create ${name}`, write: true }, effect, { signal, onAbort })
      return passing.finally(() => creating.delete(name))
    }
    const deletion = request as DeleteVolumeRequest
    const { volumeId } = deletion
    const effect = async (): Promise<object> => {
      await onDelete(volumeId, deletion)
      storage.delete(volumeId)
      return {}
    }
    return gate.pass({ label: `call delete ${volumeId}`, write: true }, effect, { signal, onAbort })
  }
  return {
    name: DRIVER,
    capabilities: {
      plugin: { services: new Set([PluginService.CONTROLLER_SERVICE]), volumeExpansion: new Set() },
      controllerService: true,
      controller: new Set([ControllerRpc.CREATE_DELETE_VOLUME, ...controller]),
    },
    state: 'ready',
    lostForMs: 0,
    failure: new Promise(() => {}),
    call: async <Q, R>(method: UnaryMethod<Q, R>, request: Q, options: { signal?: AbortSignal | undefined }) =>
      (await call(method as UnaryMethod<unknown, unknown>, request, options.signal)) as R,
    subscribe: (_: (event: DriverEvent) => void) => () => {},
    close: () => {},
  }
}

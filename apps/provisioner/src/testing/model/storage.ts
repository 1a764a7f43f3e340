import { isDeepStrictEqual } from 'node:util'
import { CODES, type Driver, type DriverEvent, RpcError } from '@csi-sidecars/csi'
import {
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  CreateVolume,
  type CreateVolumeRequest,
  type DeleteVolumeRequest,
  ListVolumes,
  type ListVolumesRequest,
  type ListVolumesResponse,
  PluginCapability_Service_Type as PluginService,
  type UnaryMethod,
  type Volume,
} from '@csi-sidecars/csi-proto'
import type { StepGate } from '@csi-sidecars/testkit'

export const DRIVER = 'csi.example.com'

/** The storage behind the driver of one provisioner process, and listeners for its calls. */
export interface ModelDriverOptions {
  readonly storage: ModelStorage
  readonly gate: StepGate
  /** Called when a DeleteVolume call takes effect. */
  readonly onDelete: (handle: string, request: DeleteVolumeRequest) => void | Promise<void>
  /** Called when a CreateVolume call is sent. */
  readonly onCreate: (name: string, request: CreateVolumeRequest) => void
  /** Called when the caller gets the answer to a CreateVolume call. `error` is undefined after success. */
  readonly onAnswer?: (request: CreateVolumeRequest, error: unknown) => void
  /** Called when a DeleteVolume call is sent. */
  readonly onDeletion?: (handle: string) => void
  /** Further capabilities of the driver. */
  readonly controller?: readonly ControllerRpc[]
  /** Changes the volume in the answer to CreateVolume. */
  readonly answer?: (volume: Volume) => Partial<Volume> | undefined
}

/** The storage behind the driver. It outlives every process of the provisioner. */
export class ModelStorage {
  /** The names of the volumes, by their handles. */
  readonly volumes = new Map<string, string>()
  /** The requests of volumes whose creation the driver continues after a call without an answer, by name. */
  readonly late = new Map<string, CreateVolumeRequest>()
  /** The requests that created the volumes, by the names of the volumes. */
  readonly #requests = new Map<string, CreateVolumeRequest>()
  #next = 1

  /** Creates a volume. Throws AlreadyExists if the volume of this name was created by another request. */
  create(request: CreateVolumeRequest): string {
    const { name } = request
    const existing = this.handleOf(name)
    if (existing !== undefined) {
      if (this.refuses(request)) throw new RpcError(CODES.AlreadyExists, `${name} exists with another request`)
      this.late.delete(name)
      return existing
    }
    this.late.delete(name)
    const handle = `vol-${this.#next++}`
    this.volumes.set(handle, name)
    this.#requests.set(name, request)
    return handle
  }

  /** Reports whether the volume of this name was created by another request. Secrets may differ. */
  refuses(request: CreateVolumeRequest): boolean {
    const first = this.handleOf(request.name) === undefined ? undefined : this.#requests.get(request.name)
    return first !== undefined && !isSameCreation(first, request)
  }

  handleOf(name: string): string | undefined {
    return [...this.volumes].find(([, each]) => each === name)?.[0]
  }

  /** Returns one page of the volumes, two at most. The token is the last handle of the page before. */
  list({ startingToken }: Pick<ListVolumesRequest, 'startingToken'>): ListVolumesResponse {
    const handles = [...this.volumes.keys()]
    const from = handles.indexOf(startingToken) + 1
    const page = handles.slice(from, from + PAGE_SIZE)
    return {
      entries: page.map((volumeId) => ({
        volume: {
          volumeId,
          capacityBytes: 2n ** 30n,
          volumeContext: {},
          contentSource: undefined,
          accessibleTopology: [],
        },
        status: undefined,
      })),
      nextToken: from + PAGE_SIZE < handles.length ? (page.at(-1) ?? '') : '',
    }
  }

  delete(handle: string): void {
    this.volumes.delete(handle)
  }
}

/** The size of a page of ListVolumes. Creations and deletions happen between two pages. */
const PAGE_SIZE = 2

/** Reports whether two requests ask for the same volume. Only their Secrets may differ. */
export function isSameCreation(first: CreateVolumeRequest, second: CreateVolumeRequest): boolean {
  return isDeepStrictEqual(structuredClone({ ...first, secrets: {} }), structuredClone({ ...second, secrets: {} }))
}

/** Returns the driver as one process of the provisioner sees it. */
export function modelDriver(options: ModelDriverOptions): Driver {
  const {
    storage,
    gate,
    onDelete,
    onCreate,
    onAnswer,
    onDeletion,
    controller = [],
    answer = (volume) => volume,
  } = options
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
          volumeId: storage.create(creation),
          capacityBytes: capacityRange?.requiredBytes ?? 0n,
          volumeContext: {},
          contentSource,
          accessibleTopology: [],
        }),
      })
      const passing = gate.pass({ label: `call create ${name}`, write: true }, effect, { signal, onAbort })
      const ended = (error?: unknown): void => {
        creating.delete(name)
        if (!gate.isClosed) onAnswer?.(creation, error)
      }
      return passing.then(
        (result) => {
          ended()
          return result
        },
        (error: unknown) => {
          ended(error)
          throw error
        },
      )
    }
    if (method.path === ListVolumes.path) {
      const question = request as ListVolumesRequest
      const effect = async (): Promise<object> => storage.list(question)
      return gate.pass({ label: 'call list', write: false }, effect, { signal, onAbort })
    }
    const deletion = request as DeleteVolumeRequest
    const { volumeId } = deletion
    if (!gate.isClosed) onDeletion?.(volumeId)
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

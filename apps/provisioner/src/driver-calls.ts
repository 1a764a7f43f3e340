import { type Driver, driverWhileLeading, volumeClient } from '@csi-sidecars/csi'
import {
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  type CreateVolumeRequest,
  type CreateVolumeResponse,
  type GetCapacityRequest,
  type GetCapacityResponse,
  type ListVolumesResponse,
  PluginCapability_Service_Type as PluginService,
} from '@csi-sidecars/csi-proto'
import type { Logger } from '@csi-sidecars/telemetry'
import { permittedVolume, type VolumeDeletionPermit } from './deletion-permit.ts'
import { ProvisionError } from './request/failure.ts'

/** How a call about one volume is sent. */
export interface VolumeCallOptions {
  readonly migrated: boolean
  readonly signal: AbortSignal
}

/** How DeleteVolume is sent. */
export interface DeleteCallOptions extends VolumeCallOptions {
  readonly secrets: Readonly<Record<string, string>>
}

/** The CSI calls of the provisioner. Each call is limited by `--timeout`. */
export interface DriverCalls {
  create(request: CreateVolumeRequest, options: VolumeCallOptions): Promise<CreateVolumeResponse>
  /** Calls DeleteVolume. Checks the permit again, because a deleted volume cannot be restored. */
  delete(permit: VolumeDeletionPermit, options: DeleteCallOptions): Promise<void>
  capacity(question: GetCapacityRequest, signal: AbortSignal): Promise<GetCapacityResponse>
  /** Reads one page of the volumes in the back end. */
  listPage(startingToken: string, signal: AbortSignal): Promise<ListVolumesResponse>
  readonly canListVolumes: boolean
  /** Throws ProvisionError if the driver lacks a capability that provisioning requires, or a capability in `needs`. */
  require(needs?: Needs): void
  readonly singleNodeMultiWriter: boolean
  /** True while the connection to the driver is lost. */
  readonly lost: boolean
}

/** The capabilities that a CreateVolume call needs in addition to CREATE_DELETE_VOLUME. */
export interface Needs {
  /** Default of all: false. */
  readonly snapshot?: boolean
  readonly clone?: boolean
  readonly modify?: boolean
}

interface CallParts {
  readonly driver: Driver
  readonly settings: { readonly timeoutMs: number }
  readonly assertLeading: () => void
  readonly log: Logger
}

export function driverCalls({ driver, settings, assertLeading, log }: CallParts): DriverCalls {
  const calls = volumeClient(driverWhileLeading(driver, assertLeading, log))
  const { timeoutMs } = settings
  return {
    create: (request, options) => calls.create(request, { ...options, timeoutMs }),
    async delete(permit, { secrets, ...options }) {
      const volumeId = permittedVolume(permit)
      await calls.delete({ volumeId, secrets: { ...secrets } }, { ...options, timeoutMs })
    },
    capacity: (question, signal) => calls.capacity(question, { timeoutMs, signal }),
    listPage: (startingToken, signal) => calls.list({ startingToken, maxEntries: 0 }, { timeoutMs, signal }),
    get canListVolumes() {
      return driver.capabilities.controller.has(ControllerRpc.LIST_VOLUMES)
    },
    require: (needs = {}) => requireCapabilities(driver, needs),
    get singleNodeMultiWriter() {
      return driver.capabilities.controller.has(ControllerRpc.SINGLE_NODE_MULTI_WRITER)
    },
    get lost() {
      return driver.state === 'lost'
    },
  }
}

function requireCapabilities({ capabilities }: Pick<Driver, 'capabilities'>, needs: Needs): void {
  const { plugin, controller } = capabilities
  const has = (rpc: ControllerRpc): boolean => controller.has(rpc)
  const checks: readonly (readonly [boolean, string])[] = [
    [plugin.services.has(PluginService.CONTROLLER_SERVICE), 'dynamic provisioning: plugin CONTROLLER_SERVICE'],
    [has(ControllerRpc.CREATE_DELETE_VOLUME), 'dynamic provisioning: controller CREATE_DELETE_VOLUME'],
    [
      needs.snapshot !== true || has(ControllerRpc.CREATE_DELETE_SNAPSHOT),
      'snapshot restore: controller CREATE_DELETE_SNAPSHOT',
    ],
    [needs.clone !== true || has(ControllerRpc.CLONE_VOLUME), 'clone operations: controller CLONE_VOLUME'],
    [needs.modify !== true || has(ControllerRpc.MODIFY_VOLUME), 'VolumeAttributesClass: controller MODIFY_VOLUME'],
  ]
  const missing = checks.find(([present]) => !present)
  if (missing === undefined) return
  throw new ProvisionError(`CSI driver does not support ${missing[1]} capability is not reported`)
}

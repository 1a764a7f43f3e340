import { ControllerServiceCapability_RPC_Type, type Volume } from '@csi-sidecars/csi-proto'
import { isCompatible, isMultiNode, requireCapability } from './capability.ts'
import { DriverFailure, invalidArgument } from './driver-failure.ts'
import type { Request, Response } from './methods.ts'
import type { ControllerCapability, DriverSettings } from './settings.ts'
import type { StoredVolume, Volumes } from './volumes.ts'

const DEFAULT_BYTES = 1024n ** 3n
const MOST_BYTES = 2n ** 50n

/** The Controller service. Each method takes its request at once, so calls never see each other half done. */
export class Controller {
  readonly #settings: DriverSettings
  readonly #volumes: Volumes

  constructor(settings: DriverSettings, volumes: Volumes) {
    this.#settings = settings
    this.#volumes = volumes
  }

  ControllerGetCapabilities(): Response<'ControllerGetCapabilities'> {
    const capabilities = this.#settings.controller.map((each) => ({
      type: { $case: 'rpc' as const, value: { type: ControllerServiceCapability_RPC_Type[each] } },
    }))
    return { capabilities }
  }

  CreateVolume(request: Request<'CreateVolume'>): Response<'CreateVolume'> {
    this.#needs('CREATE_DELETE_VOLUME')
    if (request.name === '') throw invalidArgument('name is required')
    if (request.volumeCapabilities.length === 0) throw invalidArgument('volume_capabilities are required')
    for (const capability of request.volumeCapabilities) requireCapability(capability)
    const source = this.#sourceOf(request)
    this.#checkMutable(request.mutableParameters)
    const { requiredBytes = 0n, limitBytes = 0n } = request.capacityRange ?? {}
    const existing = this.#volumes.named(request.name)
    if (existing !== undefined) {
      const { capacityBytes } = existing
      if (capacityBytes < requiredBytes || (limitBytes > 0n && capacityBytes > limitBytes)) {
        throw new DriverFailure('ALREADY_EXISTS', `volume ${request.name} exists with another size`)
      }
      if (existing.source !== source) {
        throw new DriverFailure('ALREADY_EXISTS', `volume ${request.name} exists with another source`)
      }
      return { volume: described(existing) }
    }
    const capacityBytes = this.#sized(requiredBytes === 0n ? defaultSize(limitBytes) : requiredBytes, limitBytes)
    if (source !== undefined && capacityBytes < this.#volumes.require(source).capacityBytes) {
      throw new DriverFailure('OUT_OF_RANGE', `volume ${source} has more than ${capacityBytes} bytes`)
    }
    const { name, parameters, mutableParameters, accessibilityRequirements: where } = request
    const topology = (where?.preferred[0] ?? where?.requisite[0])?.segments
    const wanted = { name, capacityBytes, parameters, mutableParameters, source, topology }
    return { volume: described(this.#volumes.add(wanted)) }
  }

  #sourceOf({ volumeContentSource }: Request<'CreateVolume'>): string | undefined {
    const type = volumeContentSource?.type
    if (type === undefined) return undefined
    if (type.$case !== 'volume' || !this.#has('CLONE_VOLUME')) {
      throw invalidArgument('volume_content_source is not supported')
    }
    return type.value.volumeId
  }

  DeleteVolume(request: Request<'DeleteVolume'>): Response<'DeleteVolume'> {
    this.#needs('CREATE_DELETE_VOLUME')
    if (request.volumeId === '') throw invalidArgument('volume_id is required')
    const attached = this.#volumes.get(request.volumeId)?.attachments.size ?? 0
    if (attached > 0) throw new DriverFailure('FAILED_PRECONDITION', `volume ${request.volumeId} is attached`)
    this.#volumes.delete(request.volumeId)
    return {}
  }

  ControllerPublishVolume(request: Request<'ControllerPublishVolume'>): Response<'ControllerPublishVolume'> {
    this.#needs('PUBLISH_UNPUBLISH_VOLUME')
    const { volumeId, nodeId, readonly } = request
    if (volumeId === '') throw invalidArgument('volume_id is required')
    if (nodeId === '') throw invalidArgument('node_id is required')
    const capability = requireCapability(request.volumeCapability)
    if (readonly) this.#needs('PUBLISH_READONLY')
    const volume = this.#volumes.require(volumeId)
    if (this.#settings.nodes?.includes(nodeId) === false) {
      throw new DriverFailure('NOT_FOUND', `node ${JSON.stringify(nodeId)} does not exist`)
    }
    const present = volume.attachments.get(nodeId)
    if (present === undefined) this.#checkRoom(volume, nodeId, { shared: isMultiNode(capability) })
    else if (present.readonly !== readonly || !isCompatible(present.capability, capability)) {
      throw new DriverFailure('ALREADY_EXISTS', `volume ${volumeId} is attached to ${nodeId} in another way`)
    }
    volume.attachments.set(nodeId, { capability, readonly })
    return { publishContext: { device: `/dev/disk/by-id/${volumeId}` } }
  }

  ControllerUnpublishVolume(request: Request<'ControllerUnpublishVolume'>): Response<'ControllerUnpublishVolume'> {
    this.#needs('PUBLISH_UNPUBLISH_VOLUME')
    if (request.volumeId === '') throw invalidArgument('volume_id is required')
    // A volume that is unknown, or not there, is detached: the spec asks for success.
    const volume = this.#volumes.get(request.volumeId)
    if (request.nodeId === '') volume?.attachments.clear()
    else volume?.attachments.delete(request.nodeId)
    return {}
  }

  ValidateVolumeCapabilities(request: Request<'ValidateVolumeCapabilities'>): Response<'ValidateVolumeCapabilities'> {
    if (request.volumeId === '') throw invalidArgument('volume_id is required')
    if (request.volumeCapabilities.length === 0) throw invalidArgument('volume_capabilities are required')
    this.#volumes.require(request.volumeId)
    for (const capability of request.volumeCapabilities) requireCapability(capability)
    const { volumeContext, volumeCapabilities, parameters, mutableParameters } = request
    return { confirmed: { volumeContext, volumeCapabilities, parameters, mutableParameters }, message: '' }
  }

  ListVolumes(request: Request<'ListVolumes'>): Response<'ListVolumes'> {
    this.#needs('LIST_VOLUMES')
    if (request.maxEntries < 0) throw invalidArgument('max_entries must not be negative')
    const all = this.#volumes.all
    const start = startOf(request.startingToken, all.length)
    const end = request.maxEntries === 0 ? all.length : Math.min(start + request.maxEntries, all.length)
    const withNodes = this.#has('LIST_VOLUMES_PUBLISHED_NODES')
    const entries = all.slice(start, end).map((volume) => ({
      volume: described(volume),
      status: { publishedNodeIds: withNodes ? [...volume.attachments.keys()] : [] },
    }))
    return { entries, nextToken: end < all.length ? String(end) : '' }
  }

  GetCapacity(): Response<'GetCapacity'> {
    this.#needs('GET_CAPACITY')
    const used = this.#volumes.all.reduce((sum, volume) => sum + volume.capacityBytes, 0n)
    const left = MOST_BYTES > used ? MOST_BYTES - used : 0n
    return { availableCapacity: left, maximumVolumeSize: MOST_BYTES, minimumVolumeSize: 1n }
  }

  ControllerExpandVolume(request: Request<'ControllerExpandVolume'>): Response<'ControllerExpandVolume'> {
    this.#needs('EXPAND_VOLUME')
    if (request.volumeId === '') throw invalidArgument('volume_id is required')
    if (request.capacityRange === undefined) throw invalidArgument('capacity_range is required')
    const volume = this.#volumes.require(request.volumeId)
    if (this.#settings.expansion === 'OFFLINE' && volume.attachments.size > 0) {
      throw new DriverFailure('FAILED_PRECONDITION', `volume ${volume.id} is in use and can be expanded offline only`)
    }
    const { requiredBytes, limitBytes } = request.capacityRange
    if (requiredBytes > volume.capacityBytes) volume.capacityBytes = this.#sized(requiredBytes, limitBytes)
    return { capacityBytes: volume.capacityBytes, nodeExpansionRequired: this.#settings.nodeExpansion }
  }

  ControllerModifyVolume(request: Request<'ControllerModifyVolume'>): Response<'ControllerModifyVolume'> {
    this.#needs('MODIFY_VOLUME')
    const volume = this.#volumes.require(request.volumeId)
    this.#checkMutable(request.mutableParameters)
    volume.mutableParameters = { ...volume.mutableParameters, ...request.mutableParameters }
    return {}
  }

  ControllerGetVolume(request: Request<'ControllerGetVolume'>): Response<'ControllerGetVolume'> {
    this.#needs('GET_VOLUME')
    const volume = this.#volumes.require(request.volumeId)
    return { volume: described(volume), status: { publishedNodeIds: [...volume.attachments.keys()] } }
  }

  #has(capability: ControllerCapability): boolean {
    return this.#settings.controller.includes(capability)
  }

  #needs(capability: ControllerCapability): void {
    if (!this.#has(capability)) throw new DriverFailure('UNIMPLEMENTED', `the driver lacks ${capability}`)
  }

  #checkRoom(volume: StoredVolume, nodeId: string, { shared }: { shared: boolean }): void {
    const [other] = volume.attachments.keys()
    if (other !== undefined && !shared) {
      throw new DriverFailure('FAILED_PRECONDITION', `volume ${volume.id} is attached to node ${other}`)
    }
    const { maxVolumesPerNode: most } = this.#settings
    if (most > 0 && this.#volumes.countOn(nodeId) >= most) {
      throw new DriverFailure('RESOURCE_EXHAUSTED', `node ${nodeId} has ${most} volumes already`)
    }
  }

  #checkMutable(parameters: Readonly<Record<string, string>>): void {
    const { mutableParameters: known } = this.#settings
    const unknown = Object.keys(parameters).find((name) => known?.includes(name) === false)
    if (unknown !== undefined) throw invalidArgument(`mutable parameter ${JSON.stringify(unknown)} is not supported`)
  }

  #sized(bytes: bigint, limitBytes: bigint): bigint {
    if (bytes < 0n || limitBytes < 0n) throw invalidArgument('a size must not be negative')
    if (bytes > MOST_BYTES) {
      throw new DriverFailure('OUT_OF_RANGE', `${bytes} bytes are more than a volume can have`)
    }
    if (limitBytes > 0n && bytes > limitBytes)
      throw new DriverFailure('OUT_OF_RANGE', 'required_bytes exceed limit_bytes')
    return bytes
  }
}

function defaultSize(limitBytes: bigint): bigint {
  return limitBytes > 0n && limitBytes < DEFAULT_BYTES ? limitBytes : DEFAULT_BYTES
}

function described(volume: StoredVolume): Volume {
  const { id, capacityBytes, context, source, topology } = volume
  return {
    volumeId: id,
    capacityBytes,
    volumeContext: { ...context },
    contentSource: source === undefined ? undefined : { type: { $case: 'volume', value: { volumeId: source } } },
    accessibleTopology: topology === undefined ? [] : [{ segments: { ...topology } }],
  }
}

function startOf(token: string, count: number): number {
  if (token === '') return 0
  const start = Number(token)
  if (Number.isInteger(start) && start > 0 && start < count) return start
  throw new DriverFailure('ABORTED', `starting_token ${JSON.stringify(token)} is not valid`)
}

import {
  ControllerServiceCapability_RPC_Type,
  type TopologyRequirement,
  type Volume,
  type VolumeContentSource,
} from '@csi-sidecars/csi-proto'
import { isCompatible, isMultiNode, requireCapability } from './capability.ts'
import { DriverFailure, invalidArgument } from './driver-failure.ts'
import type { Request, Response } from './methods.ts'
import type { ControllerCapability, DriverSettings } from './settings.ts'
import type { StoredSnapshot } from './snapshots.ts'
import type { StoredVolume, StoredVolumeSource, Volumes } from './volumes.ts'

const DEFAULT_BYTES = 1024n ** 3n
const MAX_BYTES = 2n ** 50n

type Segments = Readonly<Record<string, string>>

/** The Controller service. All methods are synchronous, so no call sees an unfinished effect of another call. */
export class EmulatedController {
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
      if (existing.source?.id !== source?.id) {
        throw new DriverFailure('ALREADY_EXISTS', `volume ${request.name} exists with another source`)
      }
      return { volume: described(existing) }
    }
    const sourceBytes = source === undefined ? undefined : this.#sizeOf(source)
    const wantedBytes = requiredBytes === 0n ? (sourceBytes ?? defaultSize(limitBytes)) : requiredBytes
    const capacityBytes = this.#sized(wantedBytes, limitBytes)
    if (sourceBytes !== undefined && capacityBytes < sourceBytes) {
      throw new DriverFailure('OUT_OF_RANGE', `${source?.of} ${source?.id} has more than ${capacityBytes} bytes`)
    }
    const { name, parameters, mutableParameters } = request
    const topology = this.#placeFor(capacityBytes, request.accessibilityRequirements)
    const requested = { name, capacityBytes, parameters, mutableParameters, source, topology }
    return { volume: described(this.#volumes.add(requested)) }
  }

  #sourceOf({ volumeContentSource }: Request<'CreateVolume'>): StoredVolumeSource | undefined {
    const type = volumeContentSource?.type
    if (type === undefined) return undefined
    if (!this.#has(type.$case === 'volume' ? 'CLONE_VOLUME' : 'CREATE_DELETE_SNAPSHOT')) {
      throw invalidArgument('volume_content_source is not supported')
    }
    return type.$case === 'volume'
      ? { of: 'volume', id: type.value.volumeId }
      : { of: 'snapshot', id: type.value.snapshotId }
  }

  #sizeOf({ of, id }: StoredVolumeSource): bigint {
    return of === 'volume' ? this.#volumes.require(id).capacityBytes : this.#volumes.snapshots.require(id).sizeBytes
  }

  /** Returns the most preferred topology with enough free bytes. Undefined if the volume is accessible everywhere. */
  #placeFor(bytes: bigint, where: TopologyRequirement | undefined): Segments | undefined {
    const places = [...(where?.preferred ?? []), ...(where?.requisite ?? [])].map(({ segments }) => segments)
    if (this.#settings.pools === undefined) return places[0]
    const anywhere = places.length > 0 ? places : this.#settings.pools.map(({ segments }) => segments)
    const found = anywhere.find((segments) => this.#freeBytes(segments) >= bytes)
    if (found === undefined) throw new DriverFailure('RESOURCE_EXHAUSTED', `no place has ${bytes} free bytes`)
    return found
  }

  /** Returns the free bytes in a topology, or in all pools if no topology is given. */
  #freeBytes(place: Segments | undefined): bigint {
    const inside = (segments: Segments): boolean =>
      place === undefined || Object.entries(segments).every(([key, value]) => place[key] === value)
    const pools = this.#settings.pools?.filter(({ segments }) => inside(segments))
    const total = pools === undefined ? MAX_BYTES : pools.reduce((sum, { bytes }) => sum + bytes, 0n)
    const volumes = this.#volumes.all.filter(({ topology }) => pools === undefined || (topology && inside(topology)))
    const usedBytes = volumes.reduce((sum, { capacityBytes }) => sum + capacityBytes, 0n)
    return total > usedBytes ? total - usedBytes : 0n
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
    // The CSI spec requires success for an unknown volume, and for a volume that is not attached.
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
    const page = pageOf(this.#volumes.all, request)
    const withNodes = this.#has('LIST_VOLUMES_PUBLISHED_NODES')
    const entries = page.items.map((volume) => ({
      volume: described(volume),
      status: { publishedNodeIds: withNodes ? [...volume.attachments.keys()] : [] },
    }))
    return { entries, nextToken: page.nextToken }
  }

  GetCapacity(request: Request<'GetCapacity'>): Response<'GetCapacity'> {
    this.#needs('GET_CAPACITY')
    const availableCapacity = this.#freeBytes(request.accessibleTopology?.segments)
    return { availableCapacity, maximumVolumeSize: MAX_BYTES, minimumVolumeSize: 1n }
  }

  CreateSnapshot(request: Request<'CreateSnapshot'>): Response<'CreateSnapshot'> {
    this.#needs('CREATE_DELETE_SNAPSHOT')
    const { name, sourceVolumeId: volumeId } = request
    if (name === '') throw invalidArgument('name is required')
    if (volumeId === '') throw invalidArgument('source_volume_id is required')
    const { snapshots } = this.#volumes
    const existing = snapshots.all.find((snapshot) => snapshot.name === name)
    if (existing !== undefined && existing.volumeId !== volumeId) {
      throw new DriverFailure('ALREADY_EXISTS', `snapshot ${name} exists with another volume`)
    }
    if (existing !== undefined) return { snapshot: snapshots.described(existing) }
    const { capacityBytes: sizeBytes } = this.#volumes.require(volumeId)
    return { snapshot: snapshots.described(snapshots.add({ name, volumeId, sizeBytes })) }
  }

  DeleteSnapshot(request: Request<'DeleteSnapshot'>): Response<'DeleteSnapshot'> {
    this.#needs('CREATE_DELETE_SNAPSHOT')
    const { snapshotId: id } = request
    if (id === '') throw invalidArgument('snapshot_id is required')
    const groupId = this.#volumes.snapshots.get(id)?.groupId ?? ''
    if (groupId !== '') throw invalidArgument(`snapshot ${id} is part of group snapshot ${groupId}`)
    this.#volumes.snapshots.delete(id)
    return {}
  }

  ListSnapshots(request: Request<'ListSnapshots'>): Response<'ListSnapshots'> {
    this.#needs('LIST_SNAPSHOTS')
    const { snapshotId, sourceVolumeId, maxEntries, startingToken } = request
    const { snapshots } = this.#volumes
    const isListed = ({ id, volumeId }: StoredSnapshot): boolean =>
      (snapshotId === '' || id === snapshotId) && (sourceVolumeId === '' || volumeId === sourceVolumeId)
    const page = pageOf(snapshots.all.filter(isListed), { maxEntries, startingToken })
    const entries = page.items.map((snapshot) => ({ snapshot: snapshots.described(snapshot) }))
    return { entries, nextToken: page.nextToken }
  }

  GetSnapshot(request: Request<'GetSnapshot'>): Response<'GetSnapshot'> {
    this.#needs('GET_SNAPSHOT')
    if (request.snapshotId === '') throw invalidArgument('snapshot_id is required')
    const { snapshots } = this.#volumes
    return { snapshot: snapshots.described(snapshots.require(request.snapshotId)) }
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
    const { mutableParameters: currentParameters } = this.#settings
    const unknown = Object.keys(parameters).find((name) => currentParameters?.includes(name) === false)
    if (unknown !== undefined) throw invalidArgument(`mutable parameter ${JSON.stringify(unknown)} is not supported`)
  }

  #sized(bytes: bigint, limitBytes: bigint): bigint {
    if (bytes < 0n || limitBytes < 0n) throw invalidArgument('a size must not be negative')
    if (bytes > MAX_BYTES) {
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
    contentSource: source && sourceOf(source),
    accessibleTopology: topology === undefined ? [] : [{ segments: { ...topology } }],
  }
}

function sourceOf({ of, id }: StoredVolumeSource): VolumeContentSource {
  if (of === 'volume') return { type: { $case: 'volume', value: { volumeId: id } } }
  return { type: { $case: 'snapshot', value: { snapshotId: id } } }
}

/** Returns one page of a list, and the token of the next page. */
function pageOf<T>(
  all: readonly T[],
  { maxEntries, startingToken }: { readonly maxEntries: number; readonly startingToken: string },
): { readonly items: readonly T[]; readonly nextToken: string } {
  if (maxEntries < 0) throw invalidArgument('max_entries must not be negative')
  const start = startOf(startingToken, all.length)
  const end = maxEntries === 0 ? all.length : Math.min(start + maxEntries, all.length)
  return { items: all.slice(start, end), nextToken: end < all.length ? String(end) : '' }
}

function startOf(token: string, count: number): number {
  if (token === '') return 0
  const start = Number(token)
  if (Number.isInteger(start) && start > 0 && start < count) return start
  throw new DriverFailure('ABORTED', `starting_token ${JSON.stringify(token)} is not valid`)
}

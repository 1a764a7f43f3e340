import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import {
  NodeServiceCapability_RPC_Type,
  type VolumeCapability,
  VolumeCapability_AccessMode_Mode,
  VolumeUsage_Unit,
} from '@csi-sidecars/csi-proto'
import { isCompatible, requireCapability } from './capability.ts'
import { DriverFailure, invalidArgument } from './driver-failure.ts'
import type { Request, Response } from './methods.ts'
import type { DriverSettings, NodeCapability } from './settings.ts'
import type { StoredVolume, Volumes } from './volumes.ts'

/** Creates the target path: a file for a block volume, otherwise a directory. An existing path stays. */
function makeTarget(path: string, capability: VolumeCapability): void {
  if (capability.accessType?.$case === 'block') writeFileSync(path, '', { flag: 'a' })
  else mkdirSync(path, { recursive: true })
}

/** Recognizes an inline volume by its handle, which the kubelet has generated. */
function isInline(volumeId: string): boolean {
  return /^csi-[0-9a-f]{64}$/.test(volumeId)
}

/** The Node service. It mounts nothing, but records the paths at which volumes are staged and published. */
export class EmulatedNode {
  readonly #settings: DriverSettings
  readonly #volumes: Volumes

  constructor(settings: DriverSettings, volumes: Volumes) {
    this.#settings = settings
    this.#volumes = volumes
  }

  NodeGetCapabilities(): Response<'NodeGetCapabilities'> {
    const capabilities = this.#settings.node.map((each) => ({
      type: { $case: 'rpc' as const, value: { type: NodeServiceCapability_RPC_Type[each] } },
    }))
    return { capabilities }
  }

  NodeGetInfo(): Response<'NodeGetInfo'> {
    const { nodeId, maxVolumesPerNode, topology } = this.#settings
    const accessibleTopology = topology && { segments: { ...topology } }
    return { nodeId, maxVolumesPerNode: BigInt(maxVolumesPerNode), accessibleTopology }
  }

  NodeStageVolume(request: Request<'NodeStageVolume'>): Response<'NodeStageVolume'> {
    this.#needs('STAGE_UNSTAGE_VOLUME')
    if (request.volumeId === '') throw invalidArgument('volume_id is required')
    if (request.stagingTargetPath === '') throw invalidArgument('staging_target_path is required')
    const capability = requireCapability(request.volumeCapability)
    const volume = this.#volumes.require(request.volumeId)
    const staged = volume.staged.get(request.stagingTargetPath)
    if (staged !== undefined && !isCompatible(staged, capability)) {
      throw new DriverFailure('ALREADY_EXISTS', `volume ${volume.id} is staged in another way`)
    }
    volume.staged.set(request.stagingTargetPath, capability)
    return {}
  }

  NodeUnstageVolume(request: Request<'NodeUnstageVolume'>): Response<'NodeUnstageVolume'> {
    this.#needs('STAGE_UNSTAGE_VOLUME')
    if (request.stagingTargetPath === '') throw invalidArgument('staging_target_path is required')
    this.#volumes.require(request.volumeId).staged.delete(request.stagingTargetPath)
    return {}
  }

  NodePublishVolume(request: Request<'NodePublishVolume'>): Response<'NodePublishVolume'> {
    if (request.volumeId === '') throw invalidArgument('volume_id is required')
    if (request.targetPath === '') throw invalidArgument('target_path is required')
    const capability = requireCapability(request.volumeCapability)
    const inline = isInline(request.volumeId)
    if (this.#settings.node.includes('STAGE_UNSTAGE_VOLUME') && request.stagingTargetPath === '' && !inline) {
      throw invalidArgument('staging_target_path is required')
    }
    const volume = inline ? this.#inlineVolume(request.volumeId) : this.#volumes.require(request.volumeId)
    const mounted = volume.mounted.get(request.targetPath)
    if (mounted !== undefined && !isCompatible(mounted, capability)) {
      throw new DriverFailure('ALREADY_EXISTS', `volume ${volume.id} is published in another way`)
    }
    const elsewhere = volume.mounted.size > (mounted === undefined ? 0 : 1)
    if (elsewhere && capability.accessMode?.mode === VolumeCapability_AccessMode_Mode.SINGLE_NODE_SINGLE_WRITER) {
      throw new DriverFailure('FAILED_PRECONDITION', `volume ${volume.id} has its single writer at another path`)
    }
    if (this.#settings.makesTargets) makeTarget(request.targetPath, capability)
    volume.mounted.set(request.targetPath, capability)
    return {}
  }

  NodeUnpublishVolume(request: Request<'NodeUnpublishVolume'>): Response<'NodeUnpublishVolume'> {
    if (request.volumeId === '') throw invalidArgument('volume_id is required')
    if (request.targetPath === '') throw invalidArgument('target_path is required')
    const { volumeId, targetPath } = request
    const volume = isInline(volumeId) ? this.#inlineVolume(volumeId) : this.#volumes.require(volumeId)
    volume.mounted.delete(targetPath)
    if (this.#settings.makesTargets) rmSync(targetPath, { recursive: true, force: true })
    if (isInline(volumeId) && volume.mounted.size === 0) this.#volumes.delete(volumeId)
    return {}
  }

  /** Returns an inline volume. The first call that names the volume creates it. */
  #inlineVolume(id: string): StoredVolume {
    return this.#volumes.get(id) ?? this.#volumes.add({ id, name: id, capacityBytes: 0n })
  }

  NodeGetVolumeStats(request: Request<'NodeGetVolumeStats'>): Response<'NodeGetVolumeStats'> {
    this.#needs('GET_VOLUME_STATS')
    const volume = this.#placed(request.volumeId, request.volumePath)
    return {
      usage: [{ unit: VolumeUsage_Unit.BYTES, total: volume.capacityBytes, available: volume.capacityBytes, used: 0n }],
    }
  }

  NodeExpandVolume(request: Request<'NodeExpandVolume'>): Response<'NodeExpandVolume'> {
    this.#needs('EXPAND_VOLUME')
    const volume = this.#placed(request.volumeId, request.volumePath)
    const asked = request.capacityRange?.requiredBytes ?? 0n
    if (asked > volume.capacityBytes) {
      throw new DriverFailure('OUT_OF_RANGE', `volume ${volume.id} has ${volume.capacityBytes} bytes`)
    }
    return { capacityBytes: volume.capacityBytes }
  }

  /** Returns the volume. Throws NOT_FOUND if it is neither staged nor published at the path. */
  #placed(volumeId: string, path: string): ReturnType<Volumes['require']> {
    if (volumeId === '') throw invalidArgument('volume_id is required')
    if (path === '') throw invalidArgument('volume_path is required')
    const volume = this.#volumes.require(volumeId)
    if (volume.staged.has(path) || volume.mounted.has(path)) return volume
    throw new DriverFailure('NOT_FOUND', `volume ${volumeId} is not at ${path}`)
  }

  #needs(capability: NodeCapability): void {
    if (!this.#settings.node.includes(capability)) {
      throw new DriverFailure('UNIMPLEMENTED', `the driver lacks ${capability}`)
    }
  }
}

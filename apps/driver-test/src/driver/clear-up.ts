import { type Clock, messageOf } from '@csi-sidecars/base'
import { classify, controllerClient, type Driver } from '@csi-sidecars/csi'
import {
  CreateVolume,
  type CreateVolumeRequest,
  DeleteVolume,
  NodeUnpublishVolume,
  NodeUnstageVolume,
} from '@csi-sidecars/csi-proto'
import type { KnownVolume, VolumeTracker } from '../checks/volume-tracker.ts'
import { retrying } from './direct-calls.ts'
import type { OwnNodes } from './nodes.ts'

const CALL_MS = 30_000

interface ClearUpParts {
  /** The controller service, called without the proxy. */
  readonly driver: Driver
  readonly nodes: OwnNodes
  readonly clock: Clock
  readonly tracker: VolumeTracker
}

/** Unmounts, detaches and deletes the remaining volumes of a run. Returns the failures, one text for each volume. */
export async function clearUp({ tracker, ...parts }: ClearUpParts, signal: AbortSignal): Promise<readonly string[]> {
  const left: string[] = []
  for (const request of tracker.unsure) {
    try {
      await retrying({ clock: parts.clock, signal }, () => undo(request, parts.driver, signal))
    } catch (error) {
      // A permanent refusal of CreateVolume means that the volume does not exist.
      if (!classify(error).final) left.push(`volume ${request.name}: ${messageOf(error)}`)
    }
  }
  for (const volume of tracker.volumes) {
    if (volume.exists === 'no') continue
    try {
      await retrying({ clock: parts.clock, signal }, async () => {
        await unmount(volume, parts.nodes, signal)
        if (!volume.inline) await remove(volume, parts.driver, signal)
      })
    } catch (error) {
      left.push(`volume ${volume.id}: ${messageOf(error)}`)
    }
  }
  return left
}

/** Repeats a CreateVolume that got no answer, to learn the ID of the volume, and then deletes the volume. */
async function undo(request: CreateVolumeRequest, driver: Driver, signal: AbortSignal): Promise<void> {
  const limits = { timeoutMs: CALL_MS, signal }
  const { volume } = await driver.call(CreateVolume, request, limits)
  if (volume !== undefined) await driver.call(DeleteVolume, { volumeId: volume.volumeId, secrets: {} }, limits)
}

async function unmount({ id: volumeId, staged, published }: KnownVolume, nodes: OwnNodes, signal: AbortSignal) {
  const limits = { timeoutMs: CALL_MS, signal }
  for (const targetPath of published.keys()) {
    await nodes.at(targetPath)?.driver.call(NodeUnpublishVolume, { volumeId, targetPath }, limits)
  }
  for (const stagingTargetPath of staged.keys()) {
    await nodes.at(stagingTargetPath)?.driver.call(NodeUnstageVolume, { volumeId, stagingTargetPath }, limits)
  }
}

async function remove({ id: volumeId, nodes }: KnownVolume, driver: Driver, signal: AbortSignal): Promise<void> {
  const limits = { timeoutMs: CALL_MS, signal }
  for (const nodeId of nodes.keys()) {
    await controllerClient(driver).unpublish({ volumeId, nodeId, secrets: {} }, limits)
  }
  await driver.call(DeleteVolume, { volumeId, secrets: {} }, limits)
}

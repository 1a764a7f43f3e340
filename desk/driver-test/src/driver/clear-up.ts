import { type Clock, messageOf } from '@csi-sidecars/base'
import { classify, controllerClient, type Driver } from '@csi-sidecars/csi'
import {
  CreateSnapshot,
  type CreateSnapshotRequest,
  CreateVolume,
  type CreateVolumeRequest,
  DeleteSnapshot,
  DeleteVolume,
  NodeUnpublishVolume,
  NodeUnstageVolume,
} from '@csi-sidecars/csi-proto'
import type { Checker } from '../checks/checker.ts'
import type { KnownVolume } from '../checks/tracker.ts'
import { retrying } from './direct-calls.ts'
import type { OwnNodes } from './nodes.ts'

const CALL_MS = 30_000

interface ClearUpParts {
  /** The controller service, called without the proxy. */
  readonly driver: Driver
  readonly nodes: OwnNodes
  readonly clock: Clock
  readonly checker: Pick<Checker, 'tracker' | 'snapshots'>
}

/**
 * Deletes the remaining snapshots of a run, then unmounts, detaches and deletes the remaining volumes. Returns the
 * failures, one text for each snapshot and volume.
 */
export async function clearUp({ checker, ...deps }: ClearUpParts, signal: AbortSignal): Promise<readonly string[]> {
  const { clock, driver, nodes } = deps
  const { tracker, snapshots } = checker
  const limits = { timeoutMs: CALL_MS, signal }
  const controller = controllerClient(driver)
  const left: string[] = []
  const trying = async (action: string, work: () => Promise<unknown>, mayBeMissing = false): Promise<void> => {
    try {
      await retrying({ clock, signal }, work)
    } catch (error) {
      if (!mayBeMissing || !classify(error).final) left.push(`${action}: ${messageOf(error)}`)
    }
  }
  const deleteSnapshot = async (snapshotId: string): Promise<unknown> =>
    snapshotId === '' ? undefined : await driver.call(DeleteSnapshot, { snapshotId, secrets: {} }, limits)
  const deleteVolume = async (volumeId: string): Promise<unknown> =>
    volumeId === '' ? undefined : await driver.call(DeleteVolume, { volumeId, secrets: {} }, limits)
  // A repeated creation returns the ID. A permanent refusal means that nothing was created. The casts are safe,
  // because the proxy has decoded the requests of these methods.
  for (const request of snapshots.unsure as unknown as readonly CreateSnapshotRequest[]) {
    const undo = async () =>
      deleteSnapshot((await driver.call(CreateSnapshot, request, limits)).snapshot?.snapshotId ?? '')
    await trying(`snapshot ${request.name}`, undo, true)
  }
  for (const { id, exists } of snapshots.volumes) {
    if (exists !== 'no') await trying(`snapshot ${id}`, () => deleteSnapshot(id))
  }
  for (const request of tracker.unsure as unknown as readonly CreateVolumeRequest[]) {
    const undo = async () => deleteVolume((await driver.call(CreateVolume, request, limits)).volume?.volumeId ?? '')
    await trying(`volume ${request.name}`, undo, true)
  }
  for (const volume of tracker.volumes) {
    if (volume.exists === 'no') continue
    await trying(`volume ${volume.id}`, async () => {
      await unmount(volume, nodes, signal)
      if (volume.inline) return
      for (const nodeId of volume.nodes.keys())
        await controller.unpublish({ volumeId: volume.id, nodeId, secrets: {} }, limits)
      await deleteVolume(volume.id)
    })
  }
  return left
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

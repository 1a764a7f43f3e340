import { messageOf } from '@csi-sidecars/base'
import type { Volume } from '@csi-sidecars/csi-proto'
import { translateCSIPVToInTree } from '@csi-sidecars/csi-translation'
import { namespacedRef, type PersistentVolume } from '@csi-sidecars/kube-types'
import type { NamingVolume } from '../deletion-permit.ts'
import { persistentVolumeOf } from '../request/persistent-volume.ts'
import { AnswerError } from './failure.ts'
import type { UnsavedVolume } from './memory.ts'
import { readOwner } from './owner.ts'
import type { PreparedCreation } from './prepared.ts'
import type { ClaimRun } from './run.ts'

/** Calls CreateVolume and builds the PersistentVolume to be stored. Throws RpcError and AnswerError. */
export async function createVolume(run: ClaimRun, prepared: PreparedCreation): Promise<UnsavedVolume> {
  const { deps, signal, log } = run
  const { claim, request, migrated } = prepared
  const { volume } = await deps.driver.create(request, { migrated, signal })
  log.v(3)?.info('create volume rep', { volumeId: volume?.volumeId, capacity: volume?.capacityBytes })
  if (volume === undefined || volume.volumeId === '') {
    throw new AnswerError('the CSI driver answered CreateVolume without a volume', { mayVolumeExist: false })
  }
  const created = {
    volumeId: volume.volumeId,
    secretRef: prepared.refs.provisioner,
    secrets: request.secrets,
    migrated,
  }
  await refuseWrongVolume(run, prepared, volume)
  const pv = await toPersistentVolume(run, prepared, volume)
  const pvc = namespacedRef(claim.key).name
  log.v(2)?.info(`successfully created PV ${request.name} for PVC ${pvc} and csi volume name ${volume.volumeId}`)
  return { claim, pv, created, mustDelete: false }
}

/** Builds the PersistentVolume. Deletes the volume and throws if the in-tree plugin cannot describe the volume. */
async function toPersistentVolume(
  run: ClaimRun,
  prepared: PreparedCreation,
  volume: Volume,
): Promise<PersistentVolume> {
  const pv = persistentVolumeOf(prepared, volume, run.deps.settings)
  if (!prepared.migrated) return pv
  try {
    return translateCSIPVToInTree(pv)
  } catch (cause) {
    const why = messageOf(cause)
    const cleanup = `${why}. Cleanup of volume ${prepared.request.name}`
    throw await deleteWrongVolume(run, prepared, { volume, why, cleanup })
  }
}

/** Deletes a volume that is too small or lacks the requested content, and throws the reason. */
async function refuseWrongVolume(run: ClaimRun, prepared: PreparedCreation, volume: Volume): Promise<void> {
  const { claim, request } = prepared
  const { capacityBytes, contentSource } = volume
  const required = request.capacityRange?.requiredBytes ?? 0n
  if (capacityBytes !== 0n && capacityBytes < required) {
    const why = `created volume capacity ${capacityBytes} less than requested capacity ${required}`
    throw await deleteWrongVolume(run, prepared, { volume, why, cleanup: `${why}. Cleanup of volume ${request.name}` })
  }
  if (claim.requestedVolume?.dataSource !== undefined && contentSource === undefined) {
    const why = 'volume content source missing'
    throw await deleteWrongVolume(run, prepared, { volume, why, cleanup: `${why}. cleanup of volume ${request.name}` })
  }
}

const DELETE_TRIES = 5

interface UnusableVolume {
  readonly volume: Volume
  readonly why: string
  /** The beginning of the message after a failed deletion. */
  readonly cleanup: string
}

/** Deletes the volume. Tries it several times within `--timeout`. Returns the error of the creation. */
async function deleteWrongVolume(
  run: ClaimRun,
  { claim, request: { secrets }, migrated }: PreparedCreation,
  { volume: { volumeId }, why, cleanup }: UnusableVolume,
): Promise<AnswerError> {
  const { deps, signal } = run
  const end = deps.clock.monotonic() + deps.settings.timeoutMs
  for (let left = DELETE_TRIES; ; left -= 1) {
    let owner: NamingVolume | undefined
    try {
      owner = await readOwner(run, { volumeId, claimUid: claim.uid })
    } catch (cause) {
      signal.throwIfAborted()
      const message = `${cleanup} failed, because the PersistentVolumes cannot be read: ${messageOf(cause)}`
      return new AnswerError(message, { mayVolumeExist: true, cause })
    }
    if (owner !== undefined) {
      const message = `${why}. The PersistentVolume ${owner.name} has the volume, so it is kept`
      return new AnswerError(message, { mayVolumeExist: false })
    }
    try {
      await deps.driver.delete({ kind: 'unwanted', volumeId, owner }, { secrets, migrated, signal })
      return new AnswerError(why, { mayVolumeExist: false })
    } catch (cause) {
      signal.throwIfAborted()
      if (left > 1 && deps.clock.monotonic() < end) continue
      const message = `${cleanup} failed, volume is orphaned: ${messageOf(cause)}`
      return new AnswerError(message, { mayVolumeExist: true, cause })
    }
  }
}

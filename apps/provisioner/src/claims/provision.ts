import { messageOf } from '@csi-sidecars/base'
import type { Volume } from '@csi-sidecars/csi-proto'
import { translateCSIPVToInTree } from '@csi-sidecars/csi-translation'
import { namespacedRef, type PersistentVolume } from '@csi-sidecars/kube-types'
import { withFinalizer } from '../edit.ts'
import { persistentVolumeOf } from '../request/persistent-volume.ts'
import { AnswerError } from './failure.ts'
import type { CreatedVolume, Unsaved } from './memory.ts'
import type { Prepared } from './prepare.ts'
import { type ClaimRun, edit } from './run.ts'
import { deleteCreated, ownerOf } from './save.ts'

/** Puts our finalizer on the claim. Returns false if the claim is gone, or is being deleted without our finalizer. */
export async function markClaim(run: ClaimRun, { claim }: Pick<Prepared, 'claim'>): Promise<boolean> {
  const { claimFinalizer } = run.deps.settings
  let isMarked = false
  const isStored = await edit(run, claim, (pvc) => {
    const marked = withFinalizer(claimFinalizer)(pvc)
    isMarked = marked.metadata?.finalizers?.includes(claimFinalizer) === true
    return marked
  })
  return isStored && isMarked
}

/** Calls CreateVolume and builds the PersistentVolume to be stored. Throws RpcError and AnswerError. */
export async function createVolume(run: ClaimRun, prepared: Prepared): Promise<Unsaved> {
  const { deps, signal, log } = run
  const { claim, request, migrated } = prepared
  const { volume } = await deps.driver.create(request, { migrated, signal })
  log.v(3)?.info('create volume rep', { volumeId: volume?.volumeId, capacity: volume?.capacityBytes })
  if (volume === undefined || volume.volumeId === '') {
    throw new AnswerError('the CSI driver answered CreateVolume without a volume', { mayExist: false })
  }
  const created = { volumeId: volume.volumeId, secretRef: prepared.refs.provisioner, migrated }
  await refuseWrongVolume(run, prepared, { volume, created })
  const pv = await toPersistentVolume(run, prepared, { volume, created })
  const pvc = namespacedRef(claim.key).name
  log.v(2)?.info(`successfully created PV ${request.name} for PVC ${pvc} and csi volume name ${volume.volumeId}`)
  return { claim, pv, created, doomed: false }
}

/** Builds the PersistentVolume. Deletes the volume and throws if the in-tree plugin cannot describe the volume. */
async function toPersistentVolume(
  run: ClaimRun,
  prepared: Prepared,
  { volume, created }: Answered,
): Promise<PersistentVolume> {
  const pv = persistentVolumeOf(prepared, volume, run.deps.settings)
  if (!prepared.migrated) return pv
  try {
    return translateCSIPVToInTree(pv)
  } catch (cause) {
    const why = messageOf(cause)
    throw await removed(run, created, { why, cleanup: `${why}. Cleanup of volume ${prepared.request.name}` })
  }
}

interface Answered {
  readonly volume: Volume
  readonly created: CreatedVolume
}

/** Deletes a volume that is too small or lacks the requested content, and throws the reason. */
async function refuseWrongVolume(run: ClaimRun, { claim, request }: Prepared, answered: Answered): Promise<void> {
  const { capacityBytes, contentSource } = answered.volume
  const required = request.capacityRange?.requiredBytes ?? 0n
  if (capacityBytes !== 0n && capacityBytes < required) {
    const why = `created volume capacity ${capacityBytes} less than requested capacity ${required}`
    throw await removed(run, answered.created, { why, cleanup: `${why}. Cleanup of volume ${request.name}` })
  }
  if (claim.wanted?.dataSource !== undefined && contentSource === undefined) {
    const why = 'volume content source missing'
    throw await removed(run, answered.created, { why, cleanup: `${why}. cleanup of volume ${request.name}` })
  }
}

const DELETE_TRIES = 5

async function removed(
  run: ClaimRun,
  created: CreatedVolume,
  { why, cleanup }: { readonly why: string; readonly cleanup: string },
): Promise<AnswerError> {
  const owner = ownerOf(created.volumeId, run)
  if (owner !== undefined) {
    return new AnswerError(`${why}. The PersistentVolume ${owner} has the volume, so it is kept`, { mayExist: false })
  }
  for (let left = DELETE_TRIES; ; left -= 1) {
    try {
      await deleteCreated(run, created)
      return new AnswerError(why, { mayExist: true })
    } catch (cause) {
      run.signal.throwIfAborted()
      if (left > 1) continue
      const message = `${cleanup} failed, volume is orphaned: ${messageOf(cause)}`
      return new AnswerError(message, { mayExist: true, cause })
    }
  }
}

import { messageOf } from '@csi-sidecars/base'
import { failureLog } from '@csi-sidecars/controller'
import { isAlreadyExists, isNotFound } from '@csi-sidecars/kube-client'
import { PERSISTENT_VOLUMES, type PersistentVolume } from '@csi-sidecars/kube-types'
import type { ProvisionerClaim } from '../caches/claim.ts'
import { secretValuesAgain } from '../request/secrets.ts'
import { hasOurFinalizer } from './decide.ts'
import { decideConflict } from './decide-conflict.ts'
import { CLAIM_EVENTS, recordEvent, recordEventOnce } from './events.ts'
import { AnswerError } from './failure.ts'
import type { UnsavedVolume } from './memory.ts'
import { cachedClaim } from './observe.ts'
import { readOwner } from './owner.ts'
import type { ClaimRun } from './run.ts'

/**
 * Stores the PersistentVolume of a created volume. If another PersistentVolume has its name, returns an error, and
 * deletes a volume to which no PersistentVolume refers. Throws if neither storing nor deleting is possible now.
 */
async function storeOrDeleteVolume(run: ClaimRun, unsaved: UnsavedVolume): Promise<AnswerError | undefined> {
  const { deps } = run
  const { pv, created, claim } = unsaved
  const name = nameOf(pv)
  if (!unsaved.mustDelete) {
    const existing = await createOrGet(run, pv)
    if (existing === undefined) return undefined
    switch (decideConflict(existing, { claimUid: claim.uid, created })) {
      case 'stored':
        deps.volumes.storeAnswer(existing)
        return undefined
      case 'keepVolume':
        return keptVolumeError(name, name)
      case 'deleteVolume':
        // Each retry must delete the new volume, even after the PersistentVolume of the same name is gone.
        deps.memory.unsavedVolumes.set(name, { ...unsaved, mustDelete: true })
    }
  }
  const { volumeId, secretRef, migrated } = created
  const { signal, log } = run
  const secrets = await secretValuesAgain(deps.api, secretRef, { signal, log, earlier: created.secrets })
  const owner = await readOwner(run, { volumeId, claimUid: claim.uid })
  // The deletion of that PersistentVolume also deletes the volume, after the checks that it needs.
  if (owner?.name === name && owner.deleting) throw new Error(`the PersistentVolume ${name} is being deleted`)
  if (owner !== undefined) return keptVolumeError(name, owner.name)
  await deps.driver.delete({ kind: 'unwanted', volumeId, owner }, { secrets, migrated, signal })
  const message = `the PersistentVolume ${name} exists for another volume, so the new volume is deleted`
  return new AnswerError(message, { mayVolumeExist: false })
}

/** Returns the error of a volume that is kept, because another PersistentVolume refers to it. */
function keptVolumeError(name: string, owner: string): AnswerError {
  const message = `cannot store the PersistentVolume ${name}: the volume belongs to the PersistentVolume ${owner}`
  return new AnswerError(message, { mayVolumeExist: false })
}

/** Creates the PersistentVolume and returns undefined. If the name is in use, returns the existing object. */
async function createOrGet({ deps, signal }: ClaimRun, pv: PersistentVolume): Promise<PersistentVolume | undefined> {
  try {
    deps.volumes.storeAnswer(await deps.api.create(PERSISTENT_VOLUMES, pv, { signal }))
    return undefined
  } catch (nameInUse) {
    if (!isAlreadyExists(nameInUse)) throw nameInUse
    return await deps.api.get(PERSISTENT_VOLUMES, { name: nameOf(pv) }, { signal }).catch((error: unknown) => {
      // The existing object is gone. The next attempt to store the PersistentVolume comes after a pause.
      throw isNotFound(error) ? nameInUse : error
    })
  }
}

function nameOf({ metadata }: PersistentVolume): string {
  return metadata?.name ?? ''
}

/**
 * Stores the PersistentVolume of a created volume, or leaves it in `unsavedVolumes` for a later try. Returns an error if
 * another PersistentVolume has its name.
 */
export async function finishCreationNowOrLater(
  run: ClaimRun,
  unsaved: UnsavedVolume,
): Promise<AnswerError | undefined> {
  const { deps } = run
  const name = nameOf(unsaved.pv)
  // An aborted run leaves the entry in `unsavedVolumes`, so that a later run stores the PersistentVolume.
  deps.memory.unsavedVolumes.set(name, unsaved)
  try {
    return await finishCreation(run, unsaved)
  } catch (error) {
    run.signal.throwIfAborted()
    reportUnsaved(run, unsaved, error)
    deps.finishCreationLater(name)
    return undefined
  }
}

/** Tries once to store the PersistentVolume. Throws if the attempt must be repeated. */
export async function finishCreation(run: ClaimRun, unsaved: UnsavedVolume): Promise<AnswerError | undefined> {
  const { memory } = run.deps
  const { claim, pv } = unsaved
  const name = nameOf(pv)
  const conflict = await storeOrDeleteVolume(run, unsaved)
  memory.unsavedVolumes.delete(name)
  memory.recordFinished(claim.uid)
  if (conflict !== undefined) return conflict
  if (run.deps.claims.store.get(claim.key)?.uid === claim.uid) recordEvent(run, claim, CLAIM_EVENTS.succeeded(name))
  await releaseClaim(run, claim)
  return undefined
}

/** Records the failure as an event of the claim, because nothing else shows why the claim stays unbound. */
export function reportUnsaved(run: ClaimRun, { claim, pv }: UnsavedVolume, error: unknown): void {
  const message = `cannot store the PersistentVolume ${nameOf(pv)}: ${messageOf(error)}`
  run.log.error(error, 'Failed to save persistentvolume', { PV: nameOf(pv) })
  recordEventOnce(run, claim, CLAIM_EVENTS.failed(message))
}

/** Removes our finalizer from the claim. If that fails, the next run of the claim removes the finalizer. */
async function releaseClaim(run: ClaimRun, claim: ProvisionerClaim): Promise<void> {
  const { settings, enqueueClaimAgain } = run.deps
  if (!hasOurFinalizer(cachedClaim(claim.uid, run.deps) ?? claim, settings)) return
  try {
    await run.stored.removeFinalizer({ finalizer: settings.claimFinalizer })
  } catch (error) {
    run.signal.throwIfAborted()
    failureLog(error, run.log)?.error(error, 'Failed to remove the finalizer of the claim')
    enqueueClaimAgain(claim.uid)
  }
}

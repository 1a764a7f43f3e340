import { isDeepStrictEqual } from 'node:util'
import { unreachable } from '@csi-sidecars/base'
import { AGAIN, type Outcome, type Run, SETTLED, WORK_COMPLETED } from '@csi-sidecars/controller'
import { isInvalid, isNotFound } from '@csi-sidecars/kube-client'
import { type Patch, PERSISTENT_VOLUMES, type PersistentVolume } from '@csi-sidecars/kube-types'
import type { ProvisionerVolume } from '../caches/volume.ts'
import { readIfExists } from '../read-if-exists.ts'
import { secretsForDeletion } from '../request/secrets.ts'
import { type DeleteStep, decideVolume, isToBeDeleted, type PersistentVolumeStep } from './decide.ts'
import { deletionOf } from './deletion.ts'
import { InUseError } from './failure.ts'
import { observeVolume } from './observe.ts'
import { addOurFinalizerPatch, removeOurFinalizerPatch } from './patches.ts'
import { recordFailure } from './record-failure.ts'
import type { VolumeDeps, VolumeRun, VolumeWakeKind } from './run.ts'

/** Decides the next steps of one PersistentVolume. Performs them in their order, up to a step that ends the run. */
export async function reconcileVolume(
  name: string,
  deps: VolumeDeps,
  { signal, waitFor, stopWaiting }: Run<VolumeWakeKind>,
): Promise<Outcome> {
  const view = observeVolume(name, deps)
  if (view === undefined) return SETTLED
  const run: VolumeRun = { deps, log: deps.log.with({ PV: name }), signal, waitFor, stopWaiting }
  for (const step of decideVolume(view)) {
    const outcome = await performStep(run, view.volume, step)
    if (outcome !== undefined) return outcome
  }
  return SETTLED
}

/** Returns the outcome that ends the run. Undefined if the next step follows. */
async function performStep(
  run: VolumeRun,
  volume: ProvisionerVolume,
  step: PersistentVolumeStep,
): Promise<Outcome | undefined> {
  switch (step.kind) {
    case 'nothing':
      run.stopWaiting()
      run.log.v(5)?.info(`Nothing to delete: ${step.why}`)
      return undefined
    case 'addFinalizer':
      return await patchFinalizers(run, volume, addOurFinalizerPatch(volume))
    case 'removeFinalizer':
      return await patchFinalizers(run, volume, removeOurFinalizerPatch(volume))
    case 'delete':
      return await deleteVolume(run, volume, step)
    default:
      return unreachable(step)
  }
}

/** Patches the finalizers. If the cached finalizers are outdated, the patch fails and the volume is read again. */
async function patchFinalizers(run: VolumeRun, volume: ProvisionerVolume, patch: Patch | undefined): Promise<Outcome> {
  const { deps, signal } = run
  if (patch === undefined) return SETTLED
  try {
    deps.volumes.storeAnswer(await deps.api.patch(PERSISTENT_VOLUMES, { name: volume.key }, patch, { signal }))
    return AGAIN
  } catch (error) {
    signal.throwIfAborted()
    if (isNotFound(error)) return SETTLED
    if (isInvalid(error)) await readAgain(run, volume.key)
    return { kind: 'retry', cause: error }
  }
}

async function readAgain(run: VolumeRun, name: string): Promise<PersistentVolume | undefined> {
  const pv = await readIfExists(run, PERSISTENT_VOLUMES, name)
  if (pv !== undefined) run.deps.volumes.storeAnswer(pv)
  return pv
}

/** A PersistentVolume whose volume must be deleted, as the API server has it now, or the outcome if it must not. */
type Reread =
  | { readonly pv: PersistentVolume; readonly current: ProvisionerVolume; readonly outcome?: undefined }
  | { readonly pv?: undefined; readonly outcome: Outcome }

/** Reads the PersistentVolume and decides again: the user may have just retained the volume or bound it again. */
async function readReleased(
  run: VolumeRun,
  { key, uid }: ProvisionerVolume,
  driverHasDeleted: boolean,
): Promise<Reread> {
  const pv = await readAgain(run, key)
  const current = run.deps.volumes.store.get(key)
  if (pv === undefined || current === undefined) return { outcome: SETTLED }
  const mustDelete = current.uid === uid && isToBeDeleted({ volume: current, driverHasDeleted })
  return mustDelete ? { pv, current } : { outcome: AGAIN }
}

async function deleteVolume(
  run: VolumeRun,
  volume: ProvisionerVolume,
  { driverHasDeleted, attachedTo }: DeleteStep,
): Promise<Outcome> {
  const { deps, signal, log } = run
  run.waitFor({ kind: 'attachment', name: volume.key }, { kind: 'endOfUse', name: volume.claimUid ?? '' })
  const { pv, outcome } = await readReleased(run, volume, driverHasDeleted)
  if (pv === undefined) return outcome
  const className = pv.spec?.storageClassName ?? ''
  const since = deps.clock.monotonic()
  try {
    if (!driverHasDeleted) {
      const changed = await deleteAtDriver(run, volume, { pv, attachedTo })
      if (changed !== undefined) return changed
    }
  } catch (error) {
    signal.throwIfAborted()
    return recordFailure(run, { volume, className, error })
  }
  try {
    await deleteObject(run, volume)
  } catch (error) {
    signal.throwIfAborted()
    deps.metrics.deletions.failed({ class: className })
    log.info('Failed to delete persistentvolume', { err: error })
    return { kind: 'retry', cause: error }
  }
  deps.metrics.deletions.succeeded({ class: className }, deps.clock.monotonic() - since)
  return WORK_COMPLETED
}

/**
 * Deletes the volume. Reads the PersistentVolume after everything else that the call needs, because reads may take
 * seconds. If the PersistentVolume has changed so that another step is due, returns an outcome instead.
 */
async function deleteAtDriver(
  run: VolumeRun,
  volume: ProvisionerVolume,
  { pv, attachedTo }: { readonly pv: PersistentVolume; readonly attachedTo: string | undefined },
): Promise<Outcome | undefined> {
  const { deps, signal } = run
  const { key, uid } = volume
  const deletion = deletionOf(run, pv)
  const secrets = await secretsForDeletion(run, deletion.secretRef, key)
  const node = attachedTo ?? (await deps.attached?.nodeOf(key, signal))
  const fresh = await readReleased(run, volume, false)
  if (fresh.pv === undefined) return fresh.outcome
  if (!isDeepStrictEqual(deletionOf(run, fresh.pv), deletion)) return AGAIN
  const { claimUid } = fresh.current
  const isCloned = claimUid !== undefined && deps.uses.isUsed(claimUid)
  if (node !== undefined)
    throw new InUseError(`persistentvolume ${key} is still attached to node ${node}, waiting for detach`)
  if (isCloned) throw new InUseError(`persistentvolume ${key} is still being cloned, waiting for the end of the call`)
  run.stopWaiting()
  const { volumeId, migrated } = deletion
  const permit = { kind: 'released', pv: fresh.pv, uid, volumeId, attachedTo: node, isCloned } as const
  await deps.driver.delete(permit, { secrets, migrated, signal })
  deps.memory.recordDeletion(uid)
  deps.refresh?.deleted(fresh.pv)
  return undefined
}

/** Deletes the object before it removes the finalizer, so that no other client adds the finalizer again. */
async function deleteObject(run: VolumeRun, { key, uid }: ProvisionerVolume): Promise<void> {
  const { deps, signal } = run
  const deleted = await deps.api.delete(PERSISTENT_VOLUMES, { name: key }, { signal, uid }).catch(isGone)
  if (deleted === 'gone') return
  // The deletion has changed the object, so its finalizers are read again.
  const pv = await readAgain(run, key)
  if (pv === undefined || pv.metadata?.uid !== uid) return
  const patch = removeOurFinalizerPatch({ finalizers: pv.metadata?.finalizers, uid })
  if (patch === undefined) return
  const patched = await deps.api.patch(PERSISTENT_VOLUMES, { name: key }, patch, { signal }).catch(isGone)
  if (patched !== 'gone') deps.volumes.storeAnswer(patched)
}

/** Returns `gone` for a 404, and throws any other error. */
function isGone(error: unknown): 'gone' {
  if (isNotFound(error)) return 'gone'
  throw error
}

import { messageOf, unreachable } from '@csi-sidecars/base'
import { AGAIN, DONE, failureLog, type Outcome, type Run, SETTLED } from '@csi-sidecars/controller'
import type { EventText } from '@csi-sidecars/events'
import { isInvalid, isNotFound } from '@csi-sidecars/kube-client'
import {
  addFinalizerPatch,
  type Patch,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  referenceTo,
  removeFinalizerPatch,
} from '@csi-sidecars/kube-types'
import { VOLUME_FINALIZER } from '../caches/names.ts'
import { ATTACHMENTS_BY_VOLUME } from '../caches/open.ts'
import type { ProvisionerVolume } from '../caches/volume.ts'
import { decideVolume, type VolumeDecision } from './decide.ts'
import { deletionOf, InUseError, type VolumeDeps, type VolumeRun } from './deletion.ts'

/** Decides the next step of one PersistentVolume, and performs it. */
export async function reconcileVolume(name: string, deps: VolumeDeps, controllerRun: Run): Promise<Outcome> {
  const volume = deps.volumes.store.get(name)
  if (volume === undefined) return SETTLED
  const run: VolumeRun = {
    deps,
    log: deps.log.with({ PV: name }),
    signal: controllerRun.signal,
    waitFor: (...causes) => controllerRun.waitFor(...causes),
  }
  const attachments = deps.attachments?.store.byIndex(ATTACHMENTS_BY_VOLUME, name) ?? []
  const decision = decideVolume({ volume, attachments, isDeleted: deps.memory.isDeleted(volume.uid) })
  switch (decision.do) {
    case 'nothing':
      run.waitFor()
      run.log.v(5)?.info(`Nothing to delete: ${decision.why}`)
      return SETTLED
    case 'addFinalizer':
      return await patchFinalizers(run, volume, addFinalizerPatch(volume.finalizers, VOLUME_FINALIZER, volume.uid))
    case 'removeFinalizer':
      return await patchFinalizers(run, volume, removeFinalizerPatch(volume.finalizers, VOLUME_FINALIZER, volume.uid))
    case 'delete':
      return await deleteVolume(run, volume, decision)
    default:
      return unreachable(decision)
  }
}

/** Patches the finalizers. If the cached finalizers are outdated, the patch fails and the volume is read again. */
async function patchFinalizers(run: VolumeRun, volume: ProvisionerVolume, patch: Patch | undefined): Promise<Outcome> {
  const { deps, signal } = run
  if (patch === undefined) return SETTLED
  try {
    deps.volumes.learn(await deps.api.patch(PERSISTENT_VOLUMES, { name: volume.key }, patch, { signal }))
    return AGAIN
  } catch (error) {
    signal.throwIfAborted()
    if (isNotFound(error)) return SETTLED
    if (isInvalid(error)) await readAgain(run, volume.key)
    return { kind: 'retry', cause: error }
  }
}

async function readAgain({ deps, signal }: VolumeRun, name: string): Promise<PersistentVolume | undefined> {
  try {
    const pv = await deps.api.get(PERSISTENT_VOLUMES, { name }, { signal })
    deps.volumes.learn(pv)
    return pv
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

async function deleteVolume(
  run: VolumeRun,
  volume: ProvisionerVolume,
  { isDeleted, attachedTo }: VolumeDecision & { do: 'delete' },
): Promise<Outcome> {
  const { deps, signal, log } = run
  if (attachedTo !== undefined) run.waitFor({ on: 'attachment', name: volume.key })
  // The cache may lag: the user may have just retained the volume or bound it again.
  const pv = await readAgain(run, volume.key)
  const current = deps.volumes.store.get(volume.key)
  if (pv === undefined || current === undefined) return SETTLED
  if (current.uid !== volume.uid || decideVolume({ volume: current, attachments: [], isDeleted }).do !== 'delete')
    return AGAIN
  const className = pv.spec?.storageClassName ?? ''
  const since = deps.clock.monotonic()
  try {
    if (!isDeleted) {
      const deletion = await deletionOf(run, pv)
      if (attachedTo !== undefined) throw new InUseError(volume.key, attachedTo)
      run.waitFor()
      await deps.driver.delete(deletion, { migrated: deletion.migrated, signal })
      deps.memory.deleted(volume.uid)
      deps.refresh?.deleted(pv)
    }
  } catch (error) {
    signal.throwIfAborted()
    return recordFailure(run, { volume: current, className, error })
  }
  try {
    await deleteObject(run, current)
  } catch (error) {
    signal.throwIfAborted()
    deps.metrics.deletions.failed({ class: className })
    log.info('Failed to delete persistentvolume', { err: error })
    return { kind: 'retry', cause: error }
  }
  deps.metrics.deletions.succeeded({ class: className }, deps.clock.monotonic() - since)
  return DONE
}

/** Deletes the object before it removes the finalizer, so that no other client adds the finalizer again. */
async function deleteObject(run: VolumeRun, { key, uid }: ProvisionerVolume): Promise<void> {
  const { deps, signal } = run
  const deleted = await deps.api.delete(PERSISTENT_VOLUMES, { name: key }, { signal, uid }).catch(isGone)
  if (deleted === 'gone') return
  // The deletion has changed the object, so its finalizers are read again.
  const pv = await readAgain(run, key)
  if (pv === undefined || pv.metadata?.uid !== uid) return
  const patch = removeFinalizerPatch(pv.metadata?.finalizers, VOLUME_FINALIZER, uid)
  if (patch === undefined) return
  const patched = await deps.api.patch(PERSISTENT_VOLUMES, { name: key }, patch, { signal }).catch(isGone)
  if (patched !== 'gone') deps.volumes.learn(patched)
}

/** Returns `gone` for a 404, and throws any other error. */
function isGone(error: unknown): 'gone' {
  if (isNotFound(error)) return 'gone'
  throw error
}

interface FailedDeletion {
  readonly volume: ProvisionerVolume
  readonly className: string
  readonly error: unknown
}

function recordFailure(run: VolumeRun, { volume, className, error }: FailedDeletion): Outcome {
  const { deps, log } = run
  const message = messageOf(error)
  const isInUse = error instanceof InUseError
  if (isInUse) log.v(4)?.info('Volume deletion postponed', { reason: message })
  else {
    deps.metrics.deletions.failed({ class: className })
    if (deps.driver.lost) return { kind: 'retry', cause: error }
    failureLog(error, log)?.error(error, 'Volume deletion failed')
  }
  const text = isInUse ? VOLUME_EVENTS.attached(message) : VOLUME_EVENTS.failed(message)
  if (deps.memory.isNews(volume.uid, message)) deps.recorder.event(referenceTo(PERSISTENT_VOLUMES, volume), text)
  return { kind: 'retry', cause: error }
}

/** The events of a PersistentVolume. The texts equal the texts of the Go original. */
export const VOLUME_EVENTS = {
  attached: (message: string): EventText => ({ type: 'Normal', reason: 'VolumeDelete', message }),
  failed: (message: string): EventText => ({ type: 'Warning', reason: 'VolumeFailedDelete', message }),
} as const

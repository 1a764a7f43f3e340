import { unreachable } from '@csi-sidecars/base'
import { AGAIN, type Outcome, SETTLED, WORK_COMPLETED } from '@csi-sidecars/controller'
import { secretsFrom } from '@csi-sidecars/csi'
import { isNotFound } from '@csi-sidecars/kube-client'
import { PERSISTENT_VOLUMES } from '@csi-sidecars/kube-types'
import type { KeepStep } from './decide.ts'
import { isNotFoundByDriver, OperationError, rethrowAs } from './failure.ts'
import { loadSecret } from './load-secret.ts'
import { orphanPublications } from './orphaned-publications.ts'
import { confirmedPatch, detachedPatch } from './patches.ts'
import { recordFailure } from './record-failure.ts'
import type { AttachmentRun } from './run.ts'
import type { DetachStep } from './steps.ts'

export async function detach(run: AttachmentRun, steps: readonly DetachStep[]): Promise<Outcome> {
  if (steps.length === 0) {
    run.log.v(4)?.info('VolumeAttachment is already detached')
    return SETTLED
  }
  run.log.v(2)?.info('Detaching')
  try {
    const needsStatus = await performDetach(run, steps)
    if (needsStatus) await markDetached(run)
  } catch (error) {
    return await recordFailure(run, steps.at(-1)?.kind === 'block' ? 'blocked detach' : 'detach', error)
  }
  run.deps.memory.update(run.va, { mustWriteStatus: false })
  // If the volume is also published under another handle or node ID, separate runs unpublish it there.
  orphanPublications(run)
  run.log.v(4)?.info('Fully detached')
  return WORK_COMPLETED
}

/**
 * Performs the steps of a detach. Returns true if the status must still be written: the attachment exists, and its status
 * does not show the detach.
 */
async function performDetach(run: AttachmentRun, steps: readonly DetachStep[]): Promise<boolean> {
  const { deps, signal, log, stored } = run
  let secret: Readonly<Record<string, string>> = {}
  log.v(4)?.info('Starting detach operation')
  for (const step of steps) {
    switch (step.kind) {
      case 'loadSecret':
        secret = await loadSecret(deps.api, step.ref, { signal, ...stored.priorityOf('detach') })
        break
      case 'unpublish': {
        await unpublish(run, step, secret)
        const { request } = step
        log.v(2)?.info('Detached')
        deps.memory.recordUnpublish(request, run.va)
        deps.wake({ kind: 'unpublish', name: request.volumeId })
        break
      }
      case 'confirmVolumeIsGone':
        await confirmVolumeIsGone(run, step.name)
        break
      case 'removeFinalizer': {
        // The answer to this patch may be lost. Then `mustWriteStatus` makes the next run write the status.
        deps.memory.update(run.va, { mustWriteStatus: true })
        const result = await stored.removeFinalizer(step.finalizer).catch(rethrowAs('could not mark as detached'))
        log.v(4)?.info('Finalizer removed')
        return result.kind !== 'removed' || (result.saved.metadata?.finalizers ?? []).length > 0
      }
      case 'markDetached':
        return true
      case 'fail':
      case 'block':
        throw new OperationError(step.message)
      default:
        unreachable(step)
    }
  }
  return detachedPatch(stored.newest) !== undefined
}

type Unpublish = DetachStep & { readonly kind: 'unpublish' }

async function unpublish(run: AttachmentRun, step: Unpublish, secret: Readonly<Record<string, string>>): Promise<void> {
  const { deps, signal, log } = run
  const { request, migrated, isVolumeLost } = step
  try {
    await deps.driver.unpublish({ ...request, secrets: secretsFrom(secret) }, { migrated, signal, log })
  } catch (error) {
    // NotFound means that the storage has lost the volume too, so it is on no node.
    if (isVolumeLost !== true || !isNotFoundByDriver(error)) throw error
  }
  if (isVolumeLost === true) deps.memory.update(run.va, { isLostVolumeDetached: true })
}

/** Throws unless the API server confirms that no volume has this name. */
async function confirmVolumeIsGone({ deps, signal, log }: AttachmentRun, name: string): Promise<void> {
  try {
    await deps.api.get(PERSISTENT_VOLUMES, { name }, { signal })
  } catch (error) {
    if (!isNotFound(error)) throw error
    log.v(2)?.info('Detaching a volume whose PersistentVolume is gone', { PersistentVolume: name })
    return
  }
  throw new OperationError(`persistentvolume "${name}" has been created again`)
}

/** Writes the status. The memory keeps it as pending until a write succeeds, because no event starts another try. */
async function markDetached(run: AttachmentRun): Promise<void> {
  run.deps.memory.update(run.va, { mustWriteStatus: true })
  run.log.v(4)?.info('Marking as detached')
  await run.stored.writeStatus(detachedPatch).catch(rethrowAs('could not mark as detached'))
}

/** Maintains an attached volume. A failure is not stored as `attachError`, because the volume is attached. */
export async function keepAttached(run: AttachmentRun, steps: readonly KeepStep[]): Promise<Outcome> {
  run.stopWaiting()
  if (steps.length === 0) run.log.v(4)?.info('VolumeAttachment is already attached')
  for (const step of steps) {
    switch (step.kind) {
      case 'restoreFinalizer':
        await restoreFinalizer(run, step.finalizer)
        break
      case 'clearError':
        await run.stored.writeStatus(confirmedPatch).catch(rethrowAs('could not clear the attach error'))
        break
      default:
        unreachable(step)
    }
  }
  // The answer to our patch may show that another writer has set `attached` to false. No event starts a run then.
  const { attached, deleting } = run.stored.newest
  return attached === true || deleting ? SETTLED : AGAIN
}

async function restoreFinalizer(run: AttachmentRun, finalizer: string): Promise<void> {
  await run.stored.restoreFinalizer(finalizer).catch(rethrowAs('could not restore the finalizer'))
  const { deleting, finalizers } = run.stored.newest
  if (deleting) return
  // The API server did not store the finalizer, for example because an admission policy removes it.
  if (!finalizers?.includes(finalizer)) throw new OperationError('the finalizer was written and not stored')
  run.log.v(2)?.info('Restored the finalizer that another writer has removed')
}

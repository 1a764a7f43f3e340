import { unreachable } from '@csi-sidecars/base'
import { AGAIN, type Outcome, SETTLED } from '@csi-sidecars/controller'
import { newest, patchStatus, patchTested } from './api.ts'
import type { KeepStep } from './decide.ts'
import { during, OperationError } from './failure.ts'
import { confirmedPatch, restoreFinalizerPatch } from './patches.ts'
import type { AttachmentRun } from './run.ts'

/** Maintains an attachment that stays attached. A failure is no `attachError`, because the volume is attached. */
export async function keepAttached(run: AttachmentRun, steps: readonly KeepStep[]): Promise<Outcome> {
  run.waitFor()
  if (steps.length === 0) run.log.v(4)?.info('VolumeAttachment is already attached')
  for (const step of steps) {
    switch (step.do) {
      case 'restoreFinalizer':
        await restoreFinalizer(run, step.finalizer)
        break
      case 'clearError':
        await patchStatus(run, confirmedPatch).catch(during('could not clear the attach error'))
        break
      default:
        unreachable(step)
    }
  }
  // The answer to our write may show that another writer has reset the status. That starts no run by itself.
  const { attached, deleting } = newest(run)
  return attached === true || deleting ? SETTLED : AGAIN
}

async function restoreFinalizer(run: AttachmentRun, finalizer: string): Promise<void> {
  const change = patchTested(run, (va) => (va.deleting ? undefined : restoreFinalizerPatch(va, finalizer)))
  await change.catch(during('could not restore the finalizer'))
  const { deleting, finalizers } = newest(run)
  if (deleting) return
  // An admission policy, for example, removes it.
  if (!finalizers?.includes(finalizer)) throw new OperationError('the finalizer was written and not stored')
  run.log.v(2)?.info('Restored the finalizer that another writer has removed')
}

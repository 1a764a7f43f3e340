import type { Clock } from '@csi-sidecars/base'
import { failureLog, type Outcome, type Run, SETTLED, WORK_COMPLETED } from '@csi-sidecars/controller'
import type { Informer } from '@csi-sidecars/informer'
import type { KubeClient } from '@csi-sidecars/kube-client'
import { VOLUME_ATTACHMENTS, type VolumeAttachment } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import type { CachedAttachment } from '../caches/attachment.ts'
import { STATUS_REVERTED, statusReverted } from '../term/status-reverted.ts'
import { type UndoneWrite, undoneWaitMs } from '../term/undone-write.ts'
import { decideTrivial } from './decide.ts'

/** Everything that a run needs for a driver that cannot attach. */
export interface TrivialDeps {
  readonly api: KubeClient
  readonly attachments: Pick<Informer<CachedAttachment, VolumeAttachment>, 'storeAnswer' | 'store'>
  /** The last reverted write of the status, by UID of the attachment. */
  readonly undone: ReadonlyMap<string, UndoneWrite>
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Marks an attachment as attached, even if it is being deleted. It does not remove a finalizer that an attacher has set
 * while the driver could attach.
 */
export async function reconcileTrivially(key: string, deps: TrivialDeps, run: Run): Promise<Outcome> {
  const { signal } = run
  const va = deps.attachments.store.get(key)
  if (va === undefined) return SETTLED
  const [step] = decideTrivial({ va, undoneWaitMs: undoneWaitMs(deps.undone.get(va.uid), deps.clock) })
  if (step === undefined) return SETTLED
  if (step.kind === 'postpone') return { kind: 'postponed', ms: step.ms }
  const log = deps.log.with({ VolumeAttachment: key })
  let cached: CachedAttachment | undefined
  let saved: VolumeAttachment
  try {
    const options = { signal, subresource: 'status' }
    saved = await deps.api.patch(VOLUME_ATTACHMENTS, { name: key }, step.patch, options)
    cached = deps.attachments.storeAnswer(saved)
  } catch (error) {
    signal.throwIfAborted()
    failureLog(error, log)?.error(error, 'Error saving VolumeAttachment as attached')
    return { kind: 'retry', cause: error }
  }
  log.v(2)?.info('Marked VolumeAttachment as attached')
  if (cached === undefined || cached.attached === true) return WORK_COMPLETED
  // Another writer reverted the status during this run. The watch event starts no run, so this run is repeated.
  return statusReverted(saved, new Error(STATUS_REVERTED))
}

import type { Clock } from '@csi-sidecars/base'
import { DONE, type Outcome, type Run, SETTLED } from '@csi-sidecars/controller'
import type { Informer } from '@csi-sidecars/informer'
import { isUidMismatch, type KubeClient } from '@csi-sidecars/kube-client'
import { VOLUME_ATTACHMENTS, type VolumeAttachment } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import type { CachedAttachment } from '../caches/attachment.ts'
import { STATUS_REVERTED, statusReverted, type UndoneWrite, undoneWaitMs } from '../term/undone-write.ts'
import { triviallyAttachedPatch } from '../volume-attachment/patches.ts'

export interface TrivialDeps {
  readonly api: KubeClient
  readonly attachments: Pick<Informer<CachedAttachment, VolumeAttachment>, 'learn' | 'store'>
  /** Attachments that other writers have reverted to not attached, by uid. */
  readonly undone: ReadonlyMap<string, UndoneWrite>
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Marks an attachment as attached, also one that is being deleted. Finalizers of an earlier attacher with a capable
 * driver stay.
 */
export async function reconcileTrivially(key: string, deps: TrivialDeps, run: Run): Promise<Outcome> {
  const { signal } = run
  const va = deps.attachments.store.get(key)
  if (va === undefined || !va.ours || va.attached === true) return SETTLED
  const afterMs = undoneWaitMs(deps.undone.get(va.uid), deps.clock)
  if (afterMs > 0) return { kind: 'postponed', ms: afterMs }
  const patch = triviallyAttachedPatch(va)
  if (patch === undefined) return SETTLED
  const log = deps.log.with({ VolumeAttachment: key })
  let known: CachedAttachment | undefined
  let saved: VolumeAttachment
  try {
    const options = { signal, subresource: 'status' }
    saved = await deps.api.patch(VOLUME_ATTACHMENTS, { name: key }, patch, options)
    known = deps.attachments.learn(saved)
  } catch (error) {
    signal.throwIfAborted()
    // The attachment was recreated, and the cache is about to show it.
    if (!isUidMismatch(error)) log.error(error, 'Error saving VolumeAttachment as attached')
    return { kind: 'retry', cause: error }
  }
  log.v(2)?.info('Marked VolumeAttachment as attached')
  if (known === undefined || known.attached === true) return DONE
  // Another writer reverted the status during this run. Its event starts no other run.
  return statusReverted(saved, new Error(STATUS_REVERTED))
}

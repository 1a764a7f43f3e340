import type { Clock } from '@csi-sidecars/base'
import {
  type Controller,
  DONE,
  failureLog,
  keysOf,
  type Outcome,
  objectsOf,
  type Run,
  SETTLED,
} from '@csi-sidecars/controller'
import type { Informer } from '@csi-sidecars/informer'
import type { KubeClient } from '@csi-sidecars/kube-client'
import { VOLUME_ATTACHMENTS, type VolumeAttachment } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import type { CachedAttachment } from '../caches/attachment.ts'
import { SIDECAR } from '../reporting/failure-reporter.ts'
import { lifecycleLogs } from '../term/lifecycle-logs.ts'
import { backoffOf } from '../term/settings.ts'
import { STATUS_REVERTED, statusReverted } from '../term/status-reverted.ts'
import type { AttacherDeps } from '../term/term.ts'
import { undoneBy } from '../term/undone-source.ts'
import { type UndoneWrite, undoneAgain, undoneWaitMs } from '../term/undone-write.ts'
import { VA_QUEUE } from '../volume-attachment/controller.ts'
import { triviallyAttachedPatch } from '../volume-attachment/patches.ts'
import { attachmentTraceSubject, objectOf } from '../volume-attachment/pending.ts'
import { isStatusReverted, onAttachment } from '../volume-attachment/triggers.ts'

export interface TrivialDeps {
  readonly api: KubeClient
  readonly attachments: Pick<Informer<CachedAttachment, VolumeAttachment>, 'storeOwnWrite' | 'store'>
  /** The last reverted write of the status, by UID of the attachment. */
  readonly undone: ReadonlyMap<string, UndoneWrite>
  readonly clock: Clock
  readonly log: Logger
}

/** Returns the controller that only marks VolumeAttachments as attached, for a driver that cannot attach. */
export function trivialController(deps: AttacherDeps & { readonly api: KubeClient }): Controller {
  const { settings, attachments, clock, log } = deps
  const backoff = backoffOf(settings)
  /** The last reverted write of the status, by UID of the attachment. */
  const undone = new Map<string, UndoneWrite>()
  return {
    name: VA_QUEUE,
    workers: settings.workers,
    backoff,
    caches: [attachments],
    sources: [
      objectsOf(attachments, ({ uid }) => undone.delete(uid)),
      undoneBy(attachments, isStatusReverted, ({ uid }) =>
        undone.set(uid, undoneAgain(undone.get(uid), { backoff, clock })),
      ),
      keysOf(attachments, onAttachment(settings.finalizer, log)),
    ],
    wakers: {},
    reconcile: (key, run) => reconcileTrivially(key, { ...deps, undone }, run),
    traceSubject: attachmentTraceSubject(attachments.store),
    pending: {
      sidecar: SIDECAR,
      subject(key) {
        const va = attachments.store.get(key)
        if (va === undefined || !va.ours || va.attached === true) return undefined
        const { pvName: volume, nodeName: node, dueSeconds: sinceSeconds } = va
        return { operation: 'attach', object: objectOf(va), volume, node, sinceSeconds }
      },
    },
    callsDriver: false,
    ...lifecycleLogs(log),
  }
}

/**
 * Marks an attachment as attached, even if it is being deleted. It does not remove a finalizer that an attacher has set
 * while the driver could attach.
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
    known = deps.attachments.storeOwnWrite(saved)
  } catch (error) {
    signal.throwIfAborted()
    failureLog(error, log)?.error(error, 'Error saving VolumeAttachment as attached')
    return { kind: 'retry', cause: error }
  }
  log.v(2)?.info('Marked VolumeAttachment as attached')
  if (known === undefined || known.attached === true) return DONE
  // Another writer reverted the status during this run. The watch event starts no run, so this run is repeated.
  return statusReverted(saved, new Error(STATUS_REVERTED))
}

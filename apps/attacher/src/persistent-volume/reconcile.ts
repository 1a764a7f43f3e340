import type { Clock } from '@csi-sidecars/base'
import { DONE, failureLog, type Outcome, type Run, SETTLED } from '@csi-sidecars/controller'
import type { Informer, Reader } from '@csi-sidecars/informer'
import { isInvalid, isNotFound, type KubeClient } from '@csi-sidecars/kube-client'
import { PERSISTENT_VOLUMES, type PersistentVolume } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import { BY_VOLUME, type CachedAttachment } from '../caches/attachment.ts'
import type { CachedVolume } from '../caches/volume.ts'
import { type UndoneWrite, undoneWaitMs } from '../term/undone-write.ts'
import type { VolumeFinalizers } from '../volumes/volume-finalizers.ts'
import { concernsUs, decideRelease, needsFinalizer, type VolumeReleaseSettings } from './decide.ts'

export interface VolumeReleaseDeps {
  readonly api: KubeClient
  readonly volumes: Pick<Informer<CachedVolume, PersistentVolume>, 'storeOwnWrite' | 'store'>
  readonly attachments: Reader<CachedAttachment>
  readonly finalizers: Pick<VolumeFinalizers, 'add'>
  /** The last removal of our finalizer by another writer, by UID of the PersistentVolume. */
  readonly undone: ReadonlyMap<string, UndoneWrite>
  readonly settings: VolumeReleaseSettings
  readonly clock: Clock
  readonly log: Logger
}

/** A volume waits for the deletion of each attachment that uses it. */
export type ReleaseWakeKind = 'attachment'

/**
 * Removes our finalizer from a volume that no attachment needs. Restores it on a volume in use if another writer has
 * removed it.
 */
export async function reconcileVolume(
  name: string,
  deps: VolumeReleaseDeps,
  run: Run<ReleaseWakeKind>,
): Promise<Outcome> {
  const { signal } = run
  run.waitFor()
  const pv = deps.volumes.store.get(name)
  if (pv === undefined) return SETTLED
  const log = deps.log.with({ PersistentVolume: name })
  log.v(4)?.info('Started PersistentVolume processing')
  const attachments = deps.attachments.byIndex(BY_VOLUME, name)
  if (deps.undone.has(pv.uid) && needsFinalizer(pv, attachments, deps.settings))
    return await restore(pv, { ...deps, log }, run)
  const patch = decideRelease(pv, attachments, deps.settings)
  if (patch === undefined) {
    // If our finalizer has to be removed later, the deletion of an attachment starts the next run.
    if (concernsUs(pv, deps.settings))
      run.waitFor(...attachments.map(({ key }) => ({ kind: 'attachment', name: key }) as const))
    log.v(4)?.info('PersistentVolume keeps its finalizer', { attachments: attachments.length })
    return SETTLED
  }
  try {
    deps.volumes.storeOwnWrite(await deps.api.patch(PERSISTENT_VOLUMES, { name }, patch, { signal }))
  } catch (error) {
    signal.throwIfAborted()
    if (isNotFound(error)) return SETTLED
    failureLog(error, log)?.error(error, 'Failed to remove finalizer from PersistentVolume')
    if (isInvalid(error)) await readAgain(name, deps, signal)
    return { kind: 'retry', cause: error }
  }
  log.v(2)?.info('Removed finalizer from PersistentVolume')
  return DONE
}

/** Restores our finalizer. Errors are retried with back-off. */
async function restore(
  pv: CachedVolume,
  { undone, finalizers, settings, clock, log }: VolumeReleaseDeps,
  run: Run,
): Promise<Outcome> {
  const afterMs = undoneWaitMs(undone.get(pv.uid), clock)
  if (afterMs > 0) return { kind: 'postponed', ms: afterMs }
  const restored = await finalizers.add(pv.key, run.signal).catch((error: unknown) => {
    if (isNotFound(error)) return undefined
    throw error
  })
  // The volume is gone or was recreated. The next attach adds our finalizer to the new volume.
  if (restored?.uid !== pv.uid) return SETTLED
  // The API server did not store the finalizer, for example because an admission policy removes it.
  if (!restored.finalizers?.includes(settings.finalizer)) throw new Error('the finalizer was written and not stored')
  log.v(2)?.info('Restored the finalizer that another writer has removed')
  return SETTLED
}

/** Reads a volume whose finalizers have changed, so that the next run builds its patch from the current list. */
async function readAgain(name: string, { api, volumes, log }: VolumeReleaseDeps, signal: AbortSignal): Promise<void> {
  try {
    volumes.storeOwnWrite(await api.get(PERSISTENT_VOLUMES, { name }, { signal }))
  } catch (error) {
    signal.throwIfAborted()
    log.v(4)?.info('The volume could not be read again', { PersistentVolume: name, err: error })
  }
}

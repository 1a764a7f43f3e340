import { type Clock, unreachable } from '@csi-sidecars/base'
import { failureLog, type Outcome, type Run, SETTLED, WORK_COMPLETED } from '@csi-sidecars/controller'
import type { Informer } from '@csi-sidecars/informer'
import { isInvalid, isNotFound, type KubeClient } from '@csi-sidecars/kube-client'
import { type Patch, PERSISTENT_VOLUMES, type PersistentVolume } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import type { CachedVolume } from '../caches/volume.ts'
import { undoneWaitMs } from '../term/undone-write.ts'
import type { VolumeFinalizers } from '../volumes/volume-finalizers.ts'
import { decideRelease, type ReleaseWakeKind } from './decide.ts'
import { observeRelease, type ReleaseObserveDeps } from './observe.ts'

/** Everything that a removal of our finalizer from a PersistentVolume needs. */
export interface VolumeReleaseDeps extends ReleaseObserveDeps {
  readonly api: KubeClient
  readonly volumes: Pick<Informer<CachedVolume, PersistentVolume>, 'storeAnswer' | 'store'>
  readonly finalizers: Pick<VolumeFinalizers, 'add'>
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Removes our finalizer from a volume that no attachment needs. Restores it on a volume in use if another writer has
 * removed it.
 */
export async function reconcileVolume(
  name: string,
  allDeps: VolumeReleaseDeps,
  run: Run<ReleaseWakeKind>,
): Promise<Outcome> {
  run.stopWaiting()
  const view = observeRelease(name, allDeps)
  if (view === undefined) return SETTLED
  const deps = { ...allDeps, log: allDeps.log.with({ PersistentVolume: name }) }
  deps.log.v(4)?.info('Started PersistentVolume processing')
  const [step] = decideRelease(view)
  const keepsFinalizer = (): Outcome => {
    deps.log.v(4)?.info('PersistentVolume keeps its finalizer', { attachments: view.attachments.length })
    return SETTLED
  }
  switch (step?.kind) {
    case undefined:
      return keepsFinalizer()
    case 'awaitDetach':
      // If our finalizer has to be removed later, the deletion of an attachment starts the next run.
      run.waitFor(...step.waitsFor)
      return keepsFinalizer()
    case 'restoreFinalizer':
      return await restore(view.pv, deps, run)
    case 'removeFinalizer':
      return await remove(name, deps, { patch: step.patch, signal: run.signal })
    default:
      return unreachable(step)
  }
}

async function remove(
  name: string,
  deps: VolumeReleaseDeps,
  { patch, signal }: { readonly patch: Patch; readonly signal: AbortSignal },
): Promise<Outcome> {
  const { log } = deps
  try {
    deps.volumes.storeAnswer(await deps.api.patch(PERSISTENT_VOLUMES, { name }, patch, { signal }))
  } catch (error) {
    signal.throwIfAborted()
    if (isNotFound(error)) return SETTLED
    failureLog(error, log)?.error(error, 'Failed to remove finalizer from PersistentVolume')
    if (isInvalid(error)) await readAgain(name, deps, signal)
    return { kind: 'retry', cause: error }
  }
  log.v(2)?.info('Removed finalizer from PersistentVolume')
  return WORK_COMPLETED
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
    volumes.storeAnswer(await api.get(PERSISTENT_VOLUMES, { name }, { signal }))
  } catch (error) {
    signal.throwIfAborted()
    log.v(4)?.info('The volume could not be read again', { PersistentVolume: name, err: error })
  }
}

import { type Clock, messageOf } from '@csi-sidecars/base'
import { isConflict, isForbidden, isNotFound, type KubeClient } from '@csi-sidecars/kube-client'
import { VOLUME_SNAPSHOTS, type VolumeSnapshot } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import { SNAPSHOT_FINALIZER } from '../caches/names.ts'

export interface SnapshotWrite {
  readonly api: Pick<KubeClient, 'get' | 'replace'>
  readonly signal: AbortSignal
  readonly log: Logger
}

/** Puts our finalizer on the snapshot during the restore. Continues without the finalizer if RBAC forbids the write. */
export async function protectSnapshot({ api, signal, log }: SnapshotWrite, snapshot: VolumeSnapshot): Promise<void> {
  const finalizers = snapshot.metadata?.finalizers ?? []
  if (finalizers.includes(SNAPSHOT_FINALIZER)) return
  const metadata = { ...snapshot.metadata, finalizers: [...finalizers, SNAPSHOT_FINALIZER] }
  try {
    await api.replace(VOLUME_SNAPSHOTS, { ...snapshot, metadata }, { signal })
  } catch (error) {
    if (!isForbidden(error)) throw error
    log
      .v(3)
      ?.info('No permission to add a finalizer to the snapshot, continuing without its protection', { err: error })
  }
}

const CONFLICT_TRIES = 5

/** Removes our finalizer from the snapshot `namespace/name`. Throws if the API server refuses. */
export async function releaseSnapshot({ api, signal }: SnapshotWrite, key: string): Promise<void> {
  const [namespace = '', name = ''] = key.split('/')
  for (let left = CONFLICT_TRIES; ; left -= 1) {
    try {
      const snapshot = await api.get(VOLUME_SNAPSHOTS, { namespace, name }, { signal })
      const finalizers = snapshot.metadata?.finalizers ?? []
      if (!finalizers.includes(SNAPSHOT_FINALIZER)) return
      const kept = finalizers.filter((each) => each !== SNAPSHOT_FINALIZER)
      const metadata = { ...snapshot.metadata, finalizers: kept }
      await api.replace(VOLUME_SNAPSHOTS, { ...snapshot, metadata }, { signal })
      return
    } catch (error) {
      if (isNotFound(error)) return
      if (!isConflict(error) || left <= 1) throw error
    }
  }
}

export interface SweepOptions {
  readonly api: KubeClient
  readonly intervalMs: number
  /** Reports whether a claim still needs the snapshot `namespace/name`. */
  readonly isNeeded: (snapshot: string) => boolean
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Removes our finalizer from snapshots that no claim needs, at the start and after each interval: a claim may have been
 * deleted while no process was running. Ends when the signal is aborted, or if RBAC forbids the list.
 */
export async function sweepSnapshots(options: SweepOptions, signal: AbortSignal): Promise<void> {
  const { intervalMs, clock, log } = options
  while (!signal.aborted) {
    try {
      await sweepOnce(options, signal)
    } catch (error) {
      if (signal.aborted) return
      if (isForbidden(error)) {
        log.v(3)?.info('No permission to list snapshots: finalizers of forgotten restores stay', { err: error })
        return
      }
      log.info('The snapshots could not be listed', { err: messageOf(error) })
    }
    await clock.sleep(intervalMs, signal).catch(() => undefined)
  }
}

async function sweepOnce({ api, isNeeded, log }: SweepOptions, signal: AbortSignal): Promise<void> {
  const options = { project: protectedKey, signal, priority: 'low' } as const
  for await (const { items } of api.list(VOLUME_SNAPSHOTS, options)) {
    for (const key of items) {
      if (isNeeded(key)) continue
      try {
        await releaseSnapshot({ api, signal, log }, key)
        log.info('Removed the finalizer of a forgotten restore from a snapshot', { snapshot: key })
      } catch (error) {
        signal.throwIfAborted()
        log.info('The finalizer of a snapshot could not be removed', { snapshot: key, err: messageOf(error) })
      }
    }
  }
}

function protectedKey({ metadata }: VolumeSnapshot): string | undefined {
  if (metadata?.finalizers?.includes(SNAPSHOT_FINALIZER) !== true) return undefined
  return `${metadata.namespace ?? ''}/${metadata.name ?? ''}`
}

import { type Clock, messageOf } from '@csi-sidecars/base'
import { isForbidden, type KubeClient } from '@csi-sidecars/kube-client'
import { VOLUME_SNAPSHOTS, type VolumeSnapshot } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import { SNAPSHOT_FINALIZER } from '../caches/names.ts'
import { releaseSnapshot } from './snapshot-finalizer.ts'

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
 * deleted while no process was running. Ends with the signal, and if this process may not list snapshots.
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

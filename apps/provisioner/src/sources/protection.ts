import { type Clock, messageOf } from '@csi-sidecars/base'
import { addFinalizer, removeFinalizer } from '@csi-sidecars/controller'
import { isConflict, isForbidden, isNotFound, isOutcomeUnknown, type KubeClient } from '@csi-sidecars/kube-client'
import {
  namespacedRef,
  VOLUME_SNAPSHOTS,
  type VolumeSnapshot,
  withFinalizer,
  withoutFinalizer,
} from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import { snapshotKey } from '../caches/claim.ts'
import { SNAPSHOT_FINALIZER } from '../caches/names.ts'
import type { SourceUses } from './uses.ts'

/** Everything that a guarded write of a VolumeSnapshot needs. */
export interface SnapshotWrite {
  readonly api: Pick<KubeClient, 'get' | 'replace'>
  readonly signal: AbortSignal
  readonly log: Logger
}

/** The state of a snapshot that is restored. */
export interface SnapshotReads {
  /** Returns the snapshot as it was last read. */
  readonly latest: () => VolumeSnapshot
  /** Reads the snapshot again. Throws if it cannot be restored. */
  readonly refresh: () => Promise<void>
}

/** Who may still need the finalizer of a snapshot. Asked again right before the write. */
export interface SnapshotRelease extends SnapshotWrite {
  readonly uses: SourceUses
  /** Reports whether a claim needs the snapshot. Called after the snapshot was read, before the finalizer is removed. */
  readonly isNeeded: () => boolean | Promise<boolean>
}

/** How often forgotten finalizers are looked for, and who needs a snapshot. */
export interface SweepOptions {
  readonly api: KubeClient
  readonly uses: SourceUses
  readonly intervalMs: number
  /** Reports whether a cached claim needs the snapshot `namespace/name`. */
  readonly isNeeded: (snapshot: string) => boolean
  /** Lists the claims of the namespace, and reports whether a claim needs the snapshot: the cache may lag. */
  readonly isNeededOnServer: (snapshot: string, signal: AbortSignal) => Promise<boolean>
  readonly clock: Clock
  readonly log: Logger
}

/** Puts our finalizer on the snapshot during the restore. Continues without the finalizer if RBAC forbids the write. */
export async function protectSnapshot({ api, signal, log }: SnapshotWrite, snapshot: SnapshotReads): Promise<void> {
  try {
    await addFinalizer({
      ...snapshot,
      tries: WRITE_TRIES,
      hasFinalizer,
      add: (state) => (hasFinalizer(state) ? undefined : withFinalizer(state, SNAPSHOT_FINALIZER)),
      send: (changed) => api.replace(VOLUME_SNAPSHOTS, changed, { signal }),
    })
  } catch (error) {
    if (!isForbidden(error)) throw error
    log
      .v(3)
      ?.info('No permission to add a finalizer to the snapshot, continuing without its protection', { err: error })
  }
}

function hasFinalizer({ metadata }: VolumeSnapshot): boolean {
  return metadata?.finalizers?.includes(SNAPSHOT_FINALIZER) === true
}

/** The largest number of writes to a snapshot that other clients keep changing. */
const WRITE_TRIES = 5

/**
 * Removes our finalizer from the snapshot `namespace/name`, unless a claim needs the snapshot. Returns true if it was
 * removed. Throws if the API server refuses.
 */
export function releaseSnapshot(release: SnapshotRelease, key: string): Promise<boolean> {
  const { api, signal, uses, isNeeded } = release
  return uses.runExclusively(snapshotKey(key), signal, async () => {
    try {
      const result = await removeFinalizer({
        tries: WRITE_TRIES,
        latest: () => api.get(VOLUME_SNAPSHOTS, namespacedRef(key), { signal }),
        hasFinalizer,
        isCleanedUp: async () => !(await isNeeded()),
        remove: (snapshot) => withoutFinalizer(snapshot, SNAPSHOT_FINALIZER),
        send: (snapshot) => api.replace(VOLUME_SNAPSHOTS, snapshot, { signal }),
        // A write without an answer may still take effect. A further write, which is answered, rules this out.
        mayBeOutdated: (error) => isConflict(error) || isOutcomeUnknown(error),
      })
      return result.kind === 'removed'
    } catch (error) {
      if (isNotFound(error)) return false
      throw error
    }
  })
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

async function sweepOnce(options: SweepOptions, signal: AbortSignal): Promise<void> {
  const { api, uses, log } = options
  const listing = { project: protectedKey, signal, priority: 'low' } as const
  for await (const { items } of api.list(VOLUME_SNAPSHOTS, listing)) {
    for (const key of items) {
      if (options.isNeeded(key)) continue
      const isNeeded = async (): Promise<boolean> =>
        (await options.isNeededOnServer(key, signal)) || options.isNeeded(key)
      try {
        if (await releaseSnapshot({ api, uses, signal, log, isNeeded }, key))
          log.info('Removed the finalizer of a forgotten restore from a snapshot', { snapshot: key })
      } catch (error) {
        signal.throwIfAborted()
        log.info('The finalizer of a snapshot could not be removed', { snapshot: key, err: messageOf(error) })
      }
    }
  }
}

function protectedKey(snapshot: VolumeSnapshot): string | undefined {
  const { namespace = '', name = '' } = snapshot.metadata ?? {}
  return hasFinalizer(snapshot) ? `${namespace}/${name}` : undefined
}

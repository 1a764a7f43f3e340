import type { LiveCall } from '@csi-sidecars/disturb'
import {
  type CachedNode,
  type CachedSnapshot,
  type Caches,
  handleKey,
  PODS_BY_CLAIM,
  VOLUMES_BY_HANDLE,
} from '@csi-sidecars/volume-controllers'
import type { ObjectEvent } from '../../story/cluster-event.ts'
import type { CachedEvent } from './api-event.ts'
import { volumeOf } from './call-log.ts'
import { rowsOfAttachment, rowsOfClaim, rowsOfPod, rowsOfPodsOn, rowsOfVolume, rowsOfVolumeName } from './observe.ts'

/** Returns the IDs of the rows that a changed object may change. The row of the object itself comes first. */
export function rowsOfObjectEvent(event: ObjectEvent, caches: Caches): readonly string[] {
  switch (event.kind) {
    case 'claim':
      return [event.after, event.before].flatMap((claim) => (claim === undefined ? [] : rowsOfClaim(claim, caches)))
    case 'volume':
      return [event.after, event.before].flatMap((volume) => (volume === undefined ? [] : rowsOfVolume(volume)))
    case 'pod': {
      const pod = event.after ?? event.before
      return pod === undefined ? [] : rowsOfPod(pod)
    }
    case 'attachment':
      return rowsOfAttachment((event.after ?? event.before)?.pvName, caches)
    case 'node':
      return rowsOfNode(event.before, event.after, caches)
    case 'snapshot':
      return rowsOfSnapshot(event.after ?? event.before)
    case 'content':
      return rowsOfSnapshot(caches.snapshotCaches?.snapshots.store.get((event.after ?? event.before)?.snapshot ?? ''))
  }
}

function rowsOfSnapshot(snapshot: CachedSnapshot | undefined): readonly string[] {
  return snapshot === undefined ? [] : [`claim/${snapshot.namespace}/${snapshot.claim}`]
}

/** Returns the rows that a change of a node affects. A change of its readiness affects the rows of all its pods. */
function rowsOfNode(before: CachedNode | undefined, after: CachedNode | undefined, caches: Caches): readonly string[] {
  const node = after ?? before
  if (node === undefined) return []
  if (before === undefined || after === undefined || before.ready !== after.ready) return rowsOfPodsOn(node.key, caches)
  const changed = new Set([
    ...difference(attached(before), attached(after)),
    ...difference(before.volumesInUse, after.volumesInUse),
  ])
  return [...changed].flatMap((name) => rowsOfVolumeName(name, caches))
}

function attached({ volumesAttached }: CachedNode): readonly string[] {
  return volumesAttached.map(({ name }) => name)
}

function difference(a: readonly string[], b: readonly string[]): Iterable<string> {
  return new Set(a).symmetricDifference(new Set(b))
}

interface CallParts {
  readonly caches: Caches
  readonly driver: string
  readonly handles: Handles
}

export function rowsOfCall(call: Pick<LiveCall, 'request'>, { caches, driver, handles }: CallParts): readonly string[] {
  const volumeHandle = volumeOf(call)
  const volumes = caches.volumes.store.byIndex(VOLUMES_BY_HANDLE, handleKey({ driver, volumeHandle }))
  if (volumes.length > 0) return volumes.flatMap(rowsOfVolume)
  const row = handles.rowOf(volumeHandle)
  return row === undefined ? [] : [row]
}

export function rowsOfEvent({ kind, subject }: CachedEvent, caches: Caches): readonly string[] {
  switch (kind) {
    case 'PersistentVolumeClaim':
      return [`claim/${subject}`]
    case 'PersistentVolume': {
      const volume = caches.volumes.store.get(subject)
      return volume === undefined ? [] : rowsOfVolume(volume)
    }
    case 'Pod': {
      const pod = caches.pods.store.get(subject)
      return pod === undefined ? [] : rowsOfPod(pod)
    }
    default:
      return []
  }
}

/** Returns the node of an event's pod, or of a running pod that uses the event's claim. Empty if there is none. */
export function nodeOfEvent({ kind, subject }: CachedEvent, { pods }: Caches): string {
  if (kind === 'Pod') return pods.store.get(subject)?.nodeName ?? ''
  const users = kind === 'PersistentVolumeClaim' ? pods.store.byIndex(PODS_BY_CLAIM, subject) : []
  return users.find(({ phase }) => phase === 'Running')?.nodeName ?? ''
}

/** Finds the row of a volume ID in CSI calls: the volume handle, or the requested name while CreateVolume runs. */
export class Handles {
  readonly #ofRows = new Map<string, string>()
  readonly #rows = new Map<string, string>()

  of(row: string): string | undefined {
    return this.#ofRows.get(row)
  }

  rowOf(handle: string): string | undefined {
    return this.#rows.get(handle)
  }

  set(row: string, handle: string): void {
    if (this.#ofRows.get(row) === handle) return
    this.delete(row)
    this.#ofRows.set(row, handle)
    this.#rows.set(handle, row)
  }

  delete(row: string): void {
    const handle = this.#ofRows.get(row)
    if (handle !== undefined && this.#rows.get(handle) === row) this.#rows.delete(handle)
    this.#ofRows.delete(row)
  }
}

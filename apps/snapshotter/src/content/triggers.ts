import { unreachable } from '@csi-sidecars/base'
import { objectOf, type Source, type WakeEvent } from '@csi-sidecars/controller'
import type { Informer, InformerEvent } from '@csi-sidecars/informer'
import type { Content } from '../caches/content.ts'
import type { ContentMemory } from './memory.ts'

type Update = InformerEvent<Content> & { readonly type: 'updated' }

/** Returns a trigger that enqueues a changed snapshot content, unless `isAtRest` says that no work is pending. */
export function contentTrigger(isAtRest: (content: Content) => boolean) {
  return (event: InformerEvent<Content>): readonly string[] => {
    switch (event.type) {
      case 'added':
        return isAtRest(event.object) ? [] : [event.object.key]
      case 'deleted':
        return []
      case 'updated':
        return mayNeedRun(event) && !isAtRest(event.after) ? [event.after.key] : []
      default:
        return unreachable(event)
    }
  }
}

/**
 * Reports whether an update may need a run. Ignores the fields that the snapshotter writes itself, because its own writes
 * must not end the back-off: finalizers, its annotation and the status. A content that is not ready always has a planned
 * run, unless it waits for the handles of a group member.
 */
function mayNeedRun({ before, after, origin }: Update): boolean {
  if (origin === 'resync') return true
  if (before.generation !== after.generation || before.otherMetadata !== after.otherMetadata) return true
  if (before.deletedSeconds !== after.deletedSeconds) return true
  return getsHandles(before, after)
}

/** Wakes the member of a group snapshot whose handles the snapshot-controller has written. The other members keep waiting. */
export function wakesOnHandles(event: InformerEvent<Content>): readonly WakeEvent<'handles'>[] {
  if (event.type !== 'updated' || !getsHandles(event.before, event.after)) return []
  return [{ kind: 'handles', name: event.after.key }]
}

function getsHandles(before: Content, after: Content): boolean {
  return !isMemberWithHandles(before) && isMemberWithHandles(after)
}

/** Reports whether the snapshot-controller has written the handles of a group member, so that it can be checked. */
function isMemberWithHandles({ status }: Content): boolean {
  return status?.groupHandle !== undefined && status.handle !== undefined
}

/**
 * Remembers the states of contents, and enqueues lost contents. `hasSnapshotToDelete` reports whether the last state of
 * a content names such a snapshot. List this source after `forgetDeleted`, which removes the keys of deleted contents.
 */
export function recordLostContents(
  contents: Pick<Informer<Content, never>, 'subscribe'>,
  memory: ContentMemory,
  hasSnapshotToDelete: (content: Content) => boolean,
): Source {
  return (queue) =>
    contents.subscribe((event) => {
      if (event.type !== 'deleted') return memory.recordState(objectOf(event))
      const { object, last } = event
      if (memory.recordLostContent(object, last, hasSnapshotToDelete(last ?? object))) queue.add(object.key)
    })
}

import { unreachable } from '@csi-sidecars/base'
import type { WakeEvent } from '@csi-sidecars/controller'
import type { InformerEvent } from '@csi-sidecars/informer'
import type { Content } from '../caches/content.ts'

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
        return matters(event) && !isAtRest(event.after) ? [event.after.key] : []
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
function matters({ before, after, origin }: Update): boolean {
  if (origin === 'resync') return true
  if (before.generation !== after.generation || before.otherMetadata !== after.otherMetadata) return true
  if (before.deletedSeconds !== after.deletedSeconds) return true
  return getsHandles(before, after)
}

/** Wakes the members of a group snapshot when the snapshot-controller has written the handles of one of them. */
export function wakesOnMember(event: InformerEvent<Content>): readonly WakeEvent<'group'>[] {
  if (event.type !== 'updated' || event.after.memberOf === undefined) return []
  return getsHandles(event.before, event.after) ? [{ kind: 'group', name: event.after.memberOf }] : []
}

function getsHandles(before: Content, after: Content): boolean {
  return !isMemberWithHandles(before) && isMemberWithHandles(after)
}

/** Reports whether the snapshot-controller has written the handles of a group member, so that it can be checked. */
function isMemberWithHandles({ status }: Content): boolean {
  return status?.groupHandle !== undefined && status.handle !== undefined
}

import type { PendingTable, Subject } from '@csi-sidecars/controller'
import type { Content } from '../caches/content.ts'
import { decide, isDeletionStep } from './decide.ts'
import { type ContentDeps, viewOf } from './run.ts'

/** Returns the table from which reports describe pending contents. */
export function contentTable(deps: ContentDeps): PendingTable {
  const { kind, contents, memory } = deps
  return {
    sidecar: 'external-snapshotter',
    subject(key) {
      const content = contents.store.get(key)
      if (content !== undefined) return subjectOf(content, deps)
      const orphan = memory.orphans.get(key)
      return orphan && { operation: 'delete-snapshot', object: objectOf(orphan.content, deps) }
    },
    causes: {
      class: { kind: kind.classes.kind, reason: 'ClassMissing' },
      secret: { kind: 'Secret', reason: 'SecretNotFound' },
      group: { kind: 'group snapshot', reason: 'MemberNotReported' },
    },
  }
}

function subjectOf(content: Content, deps: ContentDeps): Subject | undefined {
  const [first] = decide(viewOf(content, deps))
  if (first === undefined) return undefined
  const isDeletion = isDeletionStep(first)
  return {
    operation: isDeletion ? 'delete-snapshot' : 'create-snapshot',
    object: objectOf(content, deps),
    sinceSeconds: isDeletion ? content.deletedSeconds : content.createdSeconds,
    obstacle: obstacleOf(content, deps),
  }
}

/** Returns why a content without an error is pending: its class is missing, or its snapshot is not ready. */
function obstacleOf({ status, className }: Content, { classes }: ContentDeps): string | undefined {
  if (className !== undefined && classes.get(className) === undefined) return 'ClassMissing'
  return status?.handle !== undefined && status.ready === false && !status.hasError ? 'SnapshotNotReady' : undefined
}

function objectOf({ key, uid }: Content, { kind }: ContentDeps): NonNullable<Subject['object']> {
  return { kind: kind.resource.kind, namespace: '', name: key, uid }
}

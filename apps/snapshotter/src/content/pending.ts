import type { PendingTable, WorkSubject } from '@csi-sidecars/controller'
import type { Content } from '../caches/content.ts'
import { decide, isDeletionStep } from './decide.ts'
import { observe } from './observe.ts'
import type { ContentDeps } from './run.ts'

/** Lists the snapshot contents with pending work for reports. */
export function contentTable(deps: ContentDeps): PendingTable {
  const { contents, memory } = deps
  return {
    sidecar: 'external-snapshotter',
    subject(key) {
      const content = contents.store.get(key)
      if (content !== undefined) return subjectOf(content, deps)
      const [lost] = memory.lostOf(key)
      return lost && { operation: 'delete-snapshot', object: objectRefOf(lost.content, deps) }
    },
  }
}

function subjectOf(content: Content, deps: ContentDeps): WorkSubject | undefined {
  const [first] = decide(observe(content, deps))
  if (first === undefined) return undefined
  const isDeletion = isDeletionStep(first)
  return {
    operation: isDeletion ? 'delete-snapshot' : 'create-snapshot',
    object: objectRefOf(content, deps),
    sinceSeconds: isDeletion ? content.deletedSeconds : content.createdSeconds,
    obstacle: obstacleOf(content, deps),
  }
}

/** Returns why a snapshot content has no result yet: its class is missing, or its snapshot is not ready. */
function obstacleOf({ status, className }: Content, { classes }: ContentDeps): WorkSubject['obstacle'] {
  if (className !== undefined && classes.get(className) === undefined) return 'SnapshotClassMissing'
  return status?.handle !== undefined && status.ready === false && !status.hasError ? 'SnapshotNotReady' : undefined
}

function objectRefOf({ key, uid }: Content, { kind }: ContentDeps): NonNullable<WorkSubject['object']> {
  return { kind: kind.resource.kind, namespace: '', name: key, uid }
}

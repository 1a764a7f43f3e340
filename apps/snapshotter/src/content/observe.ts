import { BY_HANDLE, type Content } from '../caches/content.ts'
import type { ContentView } from './decide.ts'
import type { ContentDeps } from './run.ts'

/** Returns the content with its cached class and the facts of the memory, as the input of `decide`. */
export function observe(content: Content, deps: ContentDeps): ContentView {
  const { kind, driverName, classes, memory } = deps
  const { className, uid } = content
  return {
    content,
    kind,
    driverName,
    snapshotClass: className === undefined ? undefined : classes.get(className),
    driverHasDeleted: memory.driverHasDeleted(uid),
    isKeptForOther: memory.isKeptForOther(uid),
    isNamedByOther: (handle) => isNamedByOther(deps, content, handle),
  }
}

/** Reports whether another cached content names the snapshot, and has not left the snapshot to other contents. */
export function isNamedByOther(
  { contents, memory }: Pick<ContentDeps, 'contents' | 'memory'>,
  { uid }: Content,
  handle: string,
): boolean {
  const isKeptForOther = (other: Content): boolean => other.policy === 'Delete' && memory.isKeptForOther(other.uid)
  return contents.store.byIndex(BY_HANDLE, handle).some((other) => other.uid !== uid && !isKeptForOther(other))
}

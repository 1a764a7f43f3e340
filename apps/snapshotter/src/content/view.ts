import type { Content } from '../caches/content.ts'
import type { ContentView } from './decide.ts'
import type { ContentDeps } from './run.ts'

/** The content with its class, as the caches have them now. */
export function viewOf(
  content: Content,
  { kind, driverName, classes }: Pick<ContentDeps, 'kind' | 'driverName' | 'classes'>,
): ContentView {
  const { className } = content
  return { content, kind, driverName, klass: className === undefined ? undefined : classes.get(className) }
}

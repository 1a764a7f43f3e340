import type { EventText } from '@csi-sidecars/events'
import { referenceTo } from '@csi-sidecars/kube-types'
import type { Content } from '../caches/content.ts'
import type { ContentRun } from './run.ts'

/** Records a Warning event about the snapshot content. */
export function warn({ deps }: ContentRun, content: Content, text: Omit<EventText, 'type'>): void {
  deps.recorder.event(referenceTo(deps.kind.resource, content), { type: 'Warning', ...text })
}

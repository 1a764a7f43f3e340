import type { EventText } from '@csi-sidecars/events'
import { apiVersionOf, referenceTo } from '@csi-sidecars/kube-types'
import type { Content } from '../caches/content.ts'
import type { Phase } from './decide.ts'
import type { ContentKind } from './kinds.ts'
import { type LostContent, lostHandleOf } from './memory.ts'
import type { ContentDeps } from './run.ts'

/** A snapshot that stays in the driver although its content is gone. */
export interface LeftSnapshot {
  readonly contentName: string
  /** The handle of the snapshot. Its name in CreateSnapshot, if the handle is unknown. */
  readonly name: string
  readonly source: string
  readonly reason: string
}

type EventKind = Pick<ContentKind, 'eventReasons' | 'texts'>

/** The events of snapshot contents. `failed` and `deletionFailed` have the reasons and texts of the Go snapshotter. */
export const CONTENT_EVENTS = {
  failed: ({ eventReasons }: EventKind, phase: Phase, message: string): EventText => ({
    type: 'Warning',
    reason: eventReasons[phase],
    message,
  }),
  deletionFailed: ({ eventReasons }: EventKind, message: string): EventText => ({
    type: 'Warning',
    reason: eventReasons.delete,
    message,
  }),
  shared: ({ eventReasons, texts }: EventKind, handle: string): EventText => ({
    type: 'Warning',
    reason: eventReasons.shared,
    message: `The ${texts.snapshot} ${handle} stays, because another ${texts.snapshotContent} names it`,
  }),
  left: ({ eventReasons, texts }: EventKind, left: LeftSnapshot): EventText => ({
    type: 'Warning',
    reason: eventReasons.left,
    message:
      `The ${texts.snapshotContent} ${left.contentName} is gone. ` +
      `The ${texts.snapshot} ${left.name} of ${left.source} may stay in the back end: ${left.reason}`,
  }),
} as const

/** Records an event about the snapshot content. */
export function recordEvent({ recorder, kind }: ContentDeps, content: Content, text: EventText): void {
  recorder.event(referenceTo(kind.resource, content), text)
}

/** Records an event about a failed deletion, once for each cause. */
export function recordDeletionEvent(deps: ContentDeps, content: Content, message: string): void {
  if (!deps.memory.shouldRecordDeletion(content.uid, message)) return
  recordEvent(deps, content, CONTENT_EVENTS.deletionFailed(deps.kind, message))
}

/** Reports the snapshot that stays in the driver without a content, in the log and by an event of its VolumeSnapshot. */
export function reportLeft({ kind, log, recorder }: ContentDeps, lost: LostContent, reason: string): void {
  const { content, creation } = lost
  const { key, refNamespace: namespace, refName: name, refUid: uid } = content
  const { snapshot, snapshotContent } = kind.texts
  const handle = lostHandleOf(lost)
  const nameInRequest = creation?.request.name
  const source = kind.sourceText(content)
  const pairs = { content: key, handle, name: nameInRequest, source, reason }
  log.warn(`The ${snapshot} of a ${snapshotContent} that is gone may stay in the back end`, pairs)
  if (name === '') return
  const left = { contentName: key, name: handle ?? `with the name ${nameInRequest}`, source, reason }
  const target = { apiVersion: apiVersionOf(kind.snapshots), kind: kind.snapshots.kind, namespace, name, uid }
  recorder.event(target, CONTENT_EVENTS.left(kind, left))
}

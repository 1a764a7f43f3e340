import { type Clock, messageOf } from '@csi-sidecars/base'
import type { Run } from '@csi-sidecars/controller'
import type { Driver, SnapshotClient } from '@csi-sidecars/csi'
import type { EventText, Recorder } from '@csi-sidecars/events'
import type { Informer } from '@csi-sidecars/informer'
import type { KubeClient } from '@csi-sidecars/kube-client'
import { type KubeObject, referenceTo } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import { BY_HANDLE, type Content, type SnapshotClass } from '../caches/content.ts'
import type { Naming } from '../parts.ts'
import type { ContentView } from './decide.ts'
import type { Kind } from './kinds.ts'
import type { ContentMemory } from './memory.ts'

/** The events that a content waits for: a change of its class or of a Secret, and the handle of a group member. */
export type ContentWakeKind = 'class' | 'secret' | 'group'

/** The dependencies of the controller of VolumeSnapshotContents or of VolumeGroupSnapshotContents. */
export interface ContentDeps {
  readonly kind: Kind
  readonly driverName: string
  readonly naming: Naming
  readonly extraMetadata: boolean
  readonly timeoutMs: number
  /** The API client. It refuses writes after this process has lost the lease. */
  readonly api: KubeClient
  readonly calls: SnapshotClient
  readonly driver: Driver
  readonly contents: Pick<Informer<Content, KubeObject>, 'storeOwnWrite' | 'store'>
  readonly classes: Pick<Informer<SnapshotClass, KubeObject>['store'], 'get'>
  readonly project: (object: KubeObject) => Content | undefined
  readonly memory: ContentMemory
  readonly recorder: Pick<Recorder, 'event'>
  readonly clock: Clock
  readonly log: Logger
}

/** One run of the reconciler for one snapshot content. */
export interface ContentRun extends Run<ContentWakeKind> {
  readonly key: string
  readonly deps: ContentDeps
}

/** Returns the content with its cached class and the facts of the memory, as the input of `decide`. */
export function viewOf(content: Content, deps: ContentDeps): ContentView {
  const { kind, driverName, classes, memory } = deps
  const { className, uid } = content
  const klass = className === undefined ? undefined : classes.get(className)
  const facts = { isDeleted: memory.isDeleted(uid), isKeptForOther: memory.isKeptForOther(uid) }
  return {
    content,
    kind,
    driverName,
    klass,
    ...facts,
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

/** Records a Warning event about the snapshot content. */
export function warn({ deps }: ContentRun, content: Content, text: Omit<EventText, 'type'>): void {
  deps.recorder.event(referenceTo(deps.kind.resource, content), { type: 'Warning', ...text })
}

/** Thrown if the snapshot content was deleted or recreated. */
export class ContentGoneError extends Error {
  override readonly name = 'ContentGoneError'
}

/**
 * Returns a `catch` handler that rethrows the error with `what` before its message. An abort and a ContentGoneError are
 * rethrown unchanged.
 */
export function explain(
  { signal }: Pick<Run, 'signal'>,
  what: string,
  show: (message: string) => string = (message) => message,
): (cause: unknown) => never {
  return (cause) => {
    signal.throwIfAborted()
    if (cause instanceof ContentGoneError) throw cause
    throw new Error(`${what}: ${show(messageOf(cause))}`, { cause })
  }
}

import type { Clock } from '@csi-sidecars/base'
import type { Run } from '@csi-sidecars/controller'
import type { Driver, SnapshotClient } from '@csi-sidecars/csi'
import type { Recorder } from '@csi-sidecars/events'
import type { Informer } from '@csi-sidecars/informer'
import type { KubeClient } from '@csi-sidecars/kube-client'
import type { KubeObject } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import type { Content, SnapshotClass } from '../caches/content.ts'
import type { Naming } from '../parts.ts'
import { SnapshotCalls } from './calls.ts'
import type { ContentKind } from './kinds.ts'
import type { ContentMemory } from './memory.ts'
import { StoredContent } from './stored-content.ts'

/**
 * The events that a content waits for: a change of its class, of a Secret or of the VolumeSnapshot, and its handles as a
 * group member.
 */
export type ContentWakeKind = 'class' | 'secret' | 'snapshot' | 'handles'

/** The dependencies of the controller of VolumeSnapshotContents or of VolumeGroupSnapshotContents. */
export interface ContentDeps {
  readonly kind: ContentKind
  readonly driverName: string
  readonly naming: Naming
  readonly extraMetadata: boolean
  readonly parameterTemplates: boolean
  readonly timeoutMs: number
  /** The API client. It refuses writes after this process has lost the lease. */
  readonly api: KubeClient
  readonly calls: SnapshotClient
  readonly driver: Driver
  readonly contents: Pick<Informer<Content, KubeObject>, 'storeAnswer' | 'store'>
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
  /** The state that this run has observed. */
  readonly content: Content
  /** The stored object, with the states that this run has read and written. */
  readonly stored: StoredContent
  readonly calls: SnapshotCalls
}

export function newRun(content: Content, deps: ContentDeps, controllerRun: Run<ContentWakeKind>): ContentRun {
  const options = { ...deps, signal: controllerRun.signal }
  const stored = new StoredContent(content, options)
  const calls = new SnapshotCalls(content, options)
  return { ...controllerRun, key: content.key, deps, content, stored, calls }
}

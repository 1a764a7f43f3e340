import type { Recorder } from '@csi-sidecars/events'
import type { Informer } from '@csi-sidecars/informer'
import type { KubeObject } from '@csi-sidecars/kube-types'
import type { AppParts } from '@csi-sidecars/sidecar'
import type { Content, SnapshotClass } from './caches/content.ts'

/** The rule by which the snapshotter builds names of snapshots from UIDs. */
export interface Naming {
  readonly prefix: string
  /** The number of UID characters in a name, without dashes. -1: the whole UID with its dashes. */
  readonly uidLength: number
}

/** The caches of one kind: snapshots, or group snapshots. */
export interface KindCaches {
  readonly contents: Informer<Content, KubeObject>
  readonly classes: Informer<SnapshotClass, KubeObject>
}

/** The flags of the snapshotter that its controllers read. */
export interface SnapshotterSettings {
  readonly driverName: string
  readonly workers: number
  readonly retryStartMs: number
  readonly retryMaxMs: number
  /** The time limit of each call to the driver, in milliseconds. */
  readonly timeoutMs: number
  readonly extraMetadata: boolean
  /** The value of `--parameter-templates`. */
  readonly parameterTemplates: boolean
  /** The value of `--node-deployment`. */
  readonly onEachNode: boolean
  /** Milliseconds between two searches for snapshots that no object names. 0: no searches. */
  readonly unreferencedIntervalMs: number
  /** The text in the handles of this cluster's snapshots. Empty: all snapshots of the back end count. */
  readonly unreferencedHandleFilter: string
  readonly snapshotNaming: Naming
  readonly groupNaming: Naming
}

/** Everything that the snapshotter opens before its first term. */
export interface SnapshotterParts
  extends Pick<AppParts, 'client' | 'driver' | 'backlog' | 'clock' | 'log' | 'unreferenced'> {
  readonly settings: SnapshotterSettings
  readonly snapshots: KindCaches
  /** The caches for group snapshots. Undefined if group snapshots are off. */
  readonly groups: KindCaches | undefined
  readonly recorder: Recorder
}

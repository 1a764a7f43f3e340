import type { Recorder } from '@csi-sidecars/events'
import type { Informer } from '@csi-sidecars/informer'
import type { KubeObject } from '@csi-sidecars/kube-types'
import type { AppParts } from '@csi-sidecars/sidecar'
import type { Content, SnapshotClass } from './caches/content.ts'

/** How the names of snapshots at the driver are built from uids. */
export interface Naming {
  readonly prefix: string
  /** Characters of the uid without its dashes; -1: the whole uid. */
  readonly uidLength: number
}

/** The caches of one kind of contents. */
export interface KindCaches {
  readonly contents: Informer<Content, KubeObject>
  readonly classes: Informer<SnapshotClass, KubeObject>
}

export interface SnapshotterSettings {
  readonly driverName: string
  readonly workers: number
  readonly retryStartMs: number
  readonly retryMaxMs: number
  /** The limit of each call. */
  readonly timeoutMs: number
  readonly extraMetadata: boolean
  readonly snapshotNaming: Naming
  readonly groupNaming: Naming
}

export interface SnapshotterParts extends Pick<AppParts, 'client' | 'driver' | 'clock' | 'log'> {
  readonly settings: SnapshotterSettings
  readonly snapshots: KindCaches
  /** Undefined if group snapshots are off. */
  readonly groups: KindCaches | undefined
  readonly recorder: Recorder
}

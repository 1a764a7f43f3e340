import type { Clock } from '@csi-sidecars/base'
import type { Informer } from '@csi-sidecars/informer'
import type { KubeClient } from '@csi-sidecars/kube-client'
import type { PersistentVolume, PersistentVolumeClaim, VolumeAttributesClass } from '@csi-sidecars/kube-types'
import type { CacheRegistry } from '@csi-sidecars/sidecar'
import type { Logger } from '@csi-sidecars/telemetry'
import type { AttributesClass } from './attributes-class.ts'
import type { Claim } from './claim.ts'
import type { Volume } from './volume.ts'

export interface Informers {
  readonly claims: Informer<Claim, PersistentVolumeClaim>
  readonly volumes: Informer<Volume, PersistentVolume>
  /** Undefined where volumes are not modified. */
  readonly classes: Informer<AttributesClass, VolumeAttributesClass> | undefined
}

export interface CacheOptions {
  readonly client: KubeClient
  readonly caches: CacheRegistry
  readonly driverName: string
  /** The node whose volumes are cached. Set with `--node-deployment` only. */
  readonly nodeName: string | undefined
  readonly modifies: boolean
  readonly resyncMs: number
  readonly clock: Clock
  readonly log: Logger
}

import type { Clock } from '@csi-sidecars/base'
import { createInformer, type Informer } from '@csi-sidecars/informer'
import type { KubeClient } from '@csi-sidecars/kube-client'
import {
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type PersistentVolumeClaim,
  VOLUME_ATTRIBUTES_CLASSES,
  type VolumeAttributesClass,
} from '@csi-sidecars/kube-types'
import { type Cache, cacheOf } from '@csi-sidecars/sidecar'
import type { Logger } from '@csi-sidecars/telemetry'
import { type AttributesClass, projectClass } from './attributes-class.ts'
import { runAwaited } from './awaited.ts'
import { type Claim, projectClaim } from './claim.ts'
import { type Volume, volumeProjection } from './volume.ts'

export interface Informers {
  readonly claims: Informer<Claim, PersistentVolumeClaim>
  readonly volumes: Informer<Volume, PersistentVolume>
  /** Undefined where volumes are not modified. */
  readonly classes: Informer<AttributesClass, VolumeAttributesClass> | undefined
}

export interface CacheOptions {
  readonly client: KubeClient
  readonly driverName: string
  readonly modifies: boolean
  readonly resyncMs: number
  readonly clock: Clock
  readonly log: Logger
}

/** What the resizer keeps of the cluster, and what has to run for it. */
export function openCaches({ driverName, modifies, ...common }: CacheOptions): {
  readonly informers: Informers
  readonly caches: readonly Cache[]
} {
  const { client, clock } = common
  const claims = createInformer({ ...common, resource: PERSISTENT_VOLUME_CLAIMS, project: projectClaim })
  const project = volumeProjection(driverName)
  const volumes = createInformer({ ...common, resource: PERSISTENT_VOLUMES, project })
  const caches = [cacheOf('PersistentVolumes', volumes, clock), cacheOf('PersistentVolumeClaims', claims, clock)]
  if (!modifies) return { informers: { claims, volumes, classes: undefined }, caches }
  const classes = createInformer({ ...common, resource: VOLUME_ATTRIBUTES_CLASSES, project: projectClass })
  caches.push(classesCache(classes, { client, claims, clock }))
  return { informers: { claims, volumes, classes }, caches }
}

/** Roles made for older sidecars do not allow to read classes; once a claim wants one, that may change at any time. */
function classesCache(
  classes: NonNullable<Informers['classes']>,
  { client, claims, clock }: { client: KubeClient; claims: Informers['claims']; clock: Clock },
): Cache {
  const cache = cacheOf('VolumeAttributesClasses', classes, clock)
  const tryToRead = async (signal: AbortSignal): Promise<void> => {
    const options = { pageSize: 1, signal, project: () => undefined }
    for await (const _ of client.list(VOLUME_ATTRIBUTES_CLASSES, options)) return
  }
  const isAwaited = (): boolean => {
    for (const { wantedClass, currentClass } of claims.store.values()) if (wantedClass !== currentClass) return true
    return false
  }
  return {
    name: cache.name,
    get synced() {
      return cache.synced
    },
    get silentForMs() {
      return cache.silentForMs
    },
    run: (signal) => runAwaited({ informer: classes, isAwaited, tryToRead, clock }, signal),
  }
}

import { type Cached, type Informer, Interner } from '@csi-sidecars/informer'
import {
  PERSISTENT_VOLUME_CLAIM_MESSAGE,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUME_MESSAGE,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type PersistentVolumeClaim,
  VOLUME_ATTRIBUTES_CLASS_MESSAGE,
  VOLUME_ATTRIBUTES_CLASSES,
  type VolumeAttributesClass,
} from '@csi-sidecars/kube-types'
import type { CacheRegistry } from '@csi-sidecars/sidecar'
import { projectClaim, type ResizerClaim } from './claim.ts'
import { type ResizerVolume, volumeProjection } from './volume.ts'

/** The caches of the resizer. Classes are cached only if the driver can modify volumes. */
export interface Informers {
  readonly claims: Informer<ResizerClaim, PersistentVolumeClaim>
  readonly volumes: Informer<ResizerVolume, PersistentVolume>
  /** The cache of VolumeAttributesClasses. Undefined if volumes are not modified. */
  readonly classes: Informer<AttributesClass, VolumeAttributesClass> | undefined
}

/** The driver and the options that decide which objects the resizer caches. */
export interface ResizerCacheOptions {
  readonly caches: CacheRegistry
  readonly driverName: string
  readonly resyncMs: number
}

/**
 * The cached fields of a VolumeAttributesClass. Classes of other drivers are cached too, because a claim may name any
 * class.
 */
export interface AttributesClass extends Cached {
  /** The CSI driver that the class is for. */
  readonly driverName: string
  readonly parameters: Readonly<Record<string, string>>
}

/** Opens the caches of the claims and volumes of the whole cluster. */
export function openClusterCaches({
  caches,
  driverName,
  resyncMs,
}: ResizerCacheOptions): Pick<Informers, 'claims' | 'volumes'> {
  const volumes = caches.open('PersistentVolumes', {
    resource: PERSISTENT_VOLUMES,
    message: PERSISTENT_VOLUME_MESSAGE,
    project: volumeProjection(driverName),
    resyncMs,
  })
  const claims = caches.open('PersistentVolumeClaims', {
    resource: PERSISTENT_VOLUME_CLAIMS,
    message: PERSISTENT_VOLUME_CLAIM_MESSAGE,
    project: projectClaim,
    resyncMs,
  })
  return { claims, volumes }
}

export function openClasses({ caches, resyncMs }: ResizerCacheOptions): NonNullable<Informers['classes']> {
  return caches.open('VolumeAttributesClasses', {
    resource: VOLUME_ATTRIBUTES_CLASSES,
    message: VOLUME_ATTRIBUTES_CLASS_MESSAGE,
    project: projectClass,
    resyncMs,
  })
}

export function projectClass(
  { metadata, driverName, parameters }: VolumeAttributesClass,
  intern = new Interner(),
): AttributesClass {
  return {
    key: metadata?.name ?? '',
    resourceVersion: metadata?.resourceVersion ?? '',
    uid: metadata?.uid ?? '',
    driverName: intern.text(driverName ?? ''),
    parameters: parameters ?? {},
  }
}

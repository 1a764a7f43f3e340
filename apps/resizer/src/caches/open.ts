import type { Clock } from '@csi-sidecars/base'
import type { KubeClient } from '@csi-sidecars/kube-client'
import {
  PERSISTENT_VOLUME_CLAIM_MESSAGE,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUME_MESSAGE,
  PERSISTENT_VOLUMES,
  VOLUME_ATTRIBUTES_CLASS_MESSAGE,
  VOLUME_ATTRIBUTES_CLASSES,
} from '@csi-sidecars/kube-types'
import { type Cache, cacheOf } from '@csi-sidecars/sidecar'
import { openOfNode } from '../node/open.ts'
import { projectClass } from './attributes-class.ts'
import { runAwaited } from './awaited.ts'
import { type Claim, projectClaim } from './claim.ts'
import type { CacheOptions, Informers } from './informers.ts'
import { volumeProjection } from './volume.ts'

/** Opens the caches of the resizer. */
export function openCaches(options: CacheOptions): Informers {
  const { client, caches, nodeName, modifies, resyncMs, clock } = options
  const { claims, volumes } = nodeName === undefined ? openAll(options) : openOfNode({ ...options, nodeName })
  if (!modifies) return { claims, volumes, classes: undefined }
  const classes = caches.create({
    resource: VOLUME_ATTRIBUTES_CLASSES,
    message: VOLUME_ATTRIBUTES_CLASS_MESSAGE,
    project: projectClass,
    resyncMs,
  })
  caches.add(classesCache(classes, { client, claims, volumes, clock }))
  return { claims, volumes, classes }
}

function openAll({ caches, driverName, resyncMs }: CacheOptions): Pick<Informers, 'claims' | 'volumes'> {
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

/** Roles made for older sidecars do not allow to read classes; once a claim wants one, that may change at any time. */
function classesCache(
  classes: NonNullable<Informers['classes']>,
  { client, claims, volumes, clock }: Pick<Informers, 'claims' | 'volumes'> & { client: KubeClient; clock: Clock },
): Cache {
  const cache = cacheOf('VolumeAttributesClasses', classes, clock)
  const tryToRead = async (signal: AbortSignal): Promise<void> => {
    const options = { pageSize: 1, signal, project: () => undefined }
    for await (const _ of client.list(VOLUME_ATTRIBUTES_CLASSES, options)) return
  }
  // Claims of other drivers may wait for ever; this process does not read classes for them.
  const waits = (claim: Claim | undefined): boolean => {
    if (claim === undefined || claim.wantedClass === claim.currentClass) return false
    return (volumes.store.get(claim.volumeName)?.kind ?? 'other') !== 'other'
  }
  const isAwaited = (): boolean => {
    for (const claim of claims.store.values()) if (waits(claim)) return true
    return false
  }
  const onAwaited = (listener: () => void): (() => void) => {
    const stops = [
      claims.subscribe((event) => {
        if (event.type === 'deleted') return
        const [before, after] = event.type === 'added' ? [undefined, event.object] : [event.before, event.after]
        if (before?.wantedClass !== after.wantedClass && waits(after)) listener()
      }),
      // The claim may come before its volume.
      volumes.subscribe((event) => {
        if (event.type !== 'added') return
        const { claimNamespace, claimName } = event.object
        if (waits(claims.store.get(`${claimNamespace}/${claimName}`))) listener()
      }),
    ]
    return () => {
      for (const stop of stops) stop()
    }
  }
  return {
    name: cache.name,
    get synced() {
      return cache.synced
    },
    get silentForMs() {
      return cache.silentForMs
    },
    run: (signal) => runAwaited({ informer: classes, isAwaited, onAwaited, tryToRead, clock }, signal),
  }
}

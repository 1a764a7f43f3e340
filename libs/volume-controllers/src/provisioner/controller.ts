import { type Controller, keysOf, objectOf, presentKey } from '@csi-sidecars/controller'
import type { Driver } from '@csi-sidecars/csi'
import type { InformerEvent } from '@csi-sidecars/informer'
import type { Attachment } from '../caches/attachment.ts'
import { CLAIMS_BY_CLASS } from '../caches/caches.ts'
import type { CachedClass } from '../caches/storage.ts'
import { baseController, type ControllerParts } from '../control.ts'
import { type ProvisionerParts, reconcileProvision, reconcileReclaim } from './reconcile.ts'

const WORKERS = 20

/**
 * Creates and deletes the volumes of claims that name this driver. It uses the annotations and phases of the
 * external-provisioner, so a real PersistentVolume controller can use it too.
 */
export function provisioner(parts: ControllerParts & { readonly driver: Driver }): readonly Controller[] {
  const { caches, clock, driver } = parts
  const own: ProvisionerParts = { ...parts, uncertain: new Map(), identity: `${clock.now()}-${driver.name}` }
  return [
    {
      ...baseController('claim', parts),
      workers: WORKERS,
      sources: [
        // Deleted claims are included, because the driver may have been creating their volumes.
        keysOf(caches.claims, (event) => [objectOf(event).key]),
        keysOf(caches.classes, (event) => claimsOf(event, parts)),
      ],
      reconcile: (key, { signal }) => reconcileProvision(key, own, signal),
    },
    {
      ...baseController('volume', parts),
      workers: WORKERS,
      sources: [keysOf(caches.volumes, presentKey), keysOf(caches.attachments, volumeOfGone)],
      reconcile: (key, { signal }) => reconcileReclaim(key, own, signal),
    },
  ]
}

function claimsOf(event: InformerEvent<CachedClass>, { caches }: ControllerParts): string[] {
  if (event.type !== 'added') return []
  return caches.claims.store.byIndex(CLAIMS_BY_CLASS, event.object.key).map(({ key }) => key)
}

/** Returns the volume of a deleted attachment, because its deletion may have waited for the detach. */
function volumeOfGone(event: InformerEvent<Attachment>): string[] {
  return event.type === 'deleted' && event.object.pvName !== undefined ? [event.object.pvName] : []
}

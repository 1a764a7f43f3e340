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
 * Creates and deletes volumes for the claims that name this driver, by the annotations and phases that a PV controller
 * and its provisioner exchange. So it serves a real PV controller as well.
 */
export function provisioner(parts: ControllerParts & { readonly driver: Driver }): readonly Controller[] {
  const { caches, clock, driver } = parts
  const own: ProvisionerParts = { ...parts, uncertain: new Map(), identity: `${clock.now()}-${driver.name}` }
  return [
    {
      ...baseController('claim', parts),
      workers: WORKERS,
      sources: [
        // Also of a deleted claim: the driver may have been creating its volume.
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

/** A volume that is released may have waited for its detach. */
function volumeOfGone(event: InformerEvent<Attachment>): string[] {
  return event.type === 'deleted' && event.object.pvName !== undefined ? [event.object.pvName] : []
}

import { keysOf, type Run } from '@csi-sidecars/controller'
import type { Driver } from '@csi-sidecars/csi'
import type { InformerEvent } from '@csi-sidecars/informer'
import type { Attachment } from '../caches/attachment.ts'
import { CLAIMS_BY_CLASS } from '../caches/caches.ts'
import type { Claim } from '../caches/claim.ts'
import type { CachedClass } from '../caches/storage.ts'
import type { Volume } from '../caches/volume.ts'
import { type ControllerParts, type Life, runWorks } from '../control.ts'
import { type ProvisionerParts, reconcileProvision, reconcileReclaim } from './reconcile.ts'

const WORKERS = 20

/**
 * Makes and deletes volumes for the claims that name this driver, by the annotations and phases by which a PV
 * controller and its provisioner talk to each other. So it serves a real one as well.
 */
export async function runProvisioner(parts: ControllerParts & { readonly driver: Driver }, life: Life): Promise<void> {
  const { caches, clock, driver } = parts
  const own: ProvisionerParts = { ...parts, uncertain: new Map(), identity: `${clock.now()}-${driver.name}` }
  const works = [
    {
      of: 'claim',
      workers: WORKERS,
      sources: [keysOf(caches.claims, claimKey), keysOf(caches.classes, (event) => claimsOf(event, parts))],
      reconcile: (key: string, { signal }: Run) => reconcileProvision(key, own, signal),
    },
    {
      of: 'volume',
      workers: WORKERS,
      sources: [keysOf(caches.volumes, volumeKey), keysOf(caches.attachments, volumeOfGone)],
      reconcile: (key: string, { signal }: Run) => reconcileReclaim(key, own, signal),
    },
  ]
  await runWorks(works, parts, life)
}

/** Also of one that is gone: the driver may have been making its volume. */
function claimKey(event: InformerEvent<Claim>): string[] {
  return [event.type === 'updated' ? event.after.key : event.object.key]
}

function claimsOf(event: InformerEvent<CachedClass>, { caches }: ControllerParts): string[] {
  if (event.type !== 'added') return []
  return caches.claims.store.byIndex(CLAIMS_BY_CLASS, event.object.key).map(({ key }) => key)
}

function volumeKey(event: InformerEvent<Volume>): string[] {
  return event.type === 'deleted' ? [] : [event.type === 'updated' ? event.after.key : event.object.key]
}

/** A volume that is released may have waited for its detach. */
function volumeOfGone(event: InformerEvent<Attachment>): string[] {
  return event.type === 'deleted' && event.object.pvName !== undefined ? [event.object.pvName] : []
}

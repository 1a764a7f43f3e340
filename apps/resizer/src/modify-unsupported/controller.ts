import { type Controller, EventDeduplicator, enqueueOn, forgetDeleted, type Source } from '@csi-sidecars/controller'
import type { Driver } from '@csi-sidecars/csi'
import { claimTable, objectOf } from '../claim/pending.ts'
import { unlessAtRest } from '../claim/triggers.ts'
import { onClaim } from '../modify/triggers.ts'
import { claimController, type ResizerTerm, volumeWaker } from '../parts.ts'
import { asksForClass, decideUnsupported, type UnsupportedWakeKind } from './decide.ts'
import { reconcileUnsupported } from './reconcile.ts'

/**
 * Returns the controller for a driver that cannot modify volumes. It warns about claims that ask for a
 * VolumeAttributesClass. Without the event, users see no reason (kubernetes-csi/external-resizer#603).
 */
export function unsupportedModifyController(term: ResizerTerm): Controller<UnsupportedWakeKind> {
  const { settings, claims, volumes, driver, claimDeps, orders, clock } = term
  const { name, workers, backoff } = claimController(term, orders.modify)
  const events = new EventDeduplicator({ clock })
  const deps = {
    claims: claims.store,
    volumes: volumes.store,
    events,
    recorder: claimDeps.recorder,
    driverName: settings.driverName,
  }
  return {
    name,
    workers,
    order: orders.modify,
    backoff,
    caches: [claims, volumes],
    sources: [
      forgetDeleted(claims, ({ uid }) => events.forget(uid)),
      enqueueOn(
        claims,
        unlessAtRest(onClaim, (claim) => !asksForClass(claim)),
      ),
    ],
    wakers: {
      volume: volumeWaker(term),
      capability: { object: 'capability', reason: 'ModifyNotSupported', source: wakesOnReturn(driver) },
    },
    reconcile: (key, run) => reconcileUnsupported(key, deps, run),
    pending: claimTable(claims.store, (claim) => {
      const [step] = decideUnsupported({ claim, volume: volumes.store.get(claim.volumeName) })
      if (step?.kind !== 'report') return undefined
      const obstacle = 'ModifyNotSupported'
      return { operation: 'modify', object: objectOf(claim), volume: claim.volumeName, obstacle }
    }),
    callsDriver: false,
  }
}

/** Wakes the waiting claims when the driver has reconnected, because its capabilities may have changed. */
function wakesOnReturn(driver: Pick<Driver, 'subscribe'>): Source<'capability'> {
  return (queue) =>
    driver.subscribe(({ type }) => {
      if (type === 'ready') queue.wake({ kind: 'capability', name: 'MODIFY_VOLUME' })
    })
}

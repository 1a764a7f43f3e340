import { type Controller, keysOf, objectsOf, SETTLED, type Source, type WorkSubject } from '@csi-sidecars/controller'
import type { Driver } from '@csi-sidecars/csi'
import { PERSISTENT_VOLUME_CLAIMS, referenceTo } from '@csi-sidecars/kube-types'
import type { ResizerClaim } from '../caches/claim.ts'
import type { ResizerVolume } from '../caches/volume.ts'
import { unlessAtRest } from '../claim/reconcile.ts'
import { claimTable, objectOf } from '../claim/subject.ts'
import type { ResizerWakeKind } from '../claim/wake-events.ts'
import { claimController, type ResizerTerm, volumeWaker } from '../parts.ts'
import { onClaim } from './controller.ts'
import { MODIFY_EVENTS } from './patches.ts'

/**
 * Returns the controller for a driver that cannot modify volumes. It warns about claims that ask for a
 * VolumeAttributesClass. Without the event, users see no reason (kubernetes-csi/external-resizer#603).
 */
export function unsupportedModifyController(parts: ResizerTerm): Controller<ResizerWakeKind | 'capability'> {
  const { settings, claims, volumes, driver, common, orders } = parts
  const { name, workers, backoff } = claimController(parts, orders.modify)
  /** The class in the last event about each claim. */
  const reported = new Map<string, string>()
  const volumeOf = (claim: ResizerClaim): ResizerVolume | undefined => volumes.store.get(claim.volumeName)
  return {
    name,
    workers,
    order: orders.modify,
    backoff,
    caches: [claims, volumes],
    sources: [
      objectsOf(claims, ({ key }) => reported.delete(key)),
      keysOf(
        claims,
        unlessAtRest(onClaim, (claim) => !asksForClass(claim)),
      ),
    ],
    wakers: {
      volume: volumeWaker(parts),
      capability: { object: 'capability', reason: 'ModifyNotSupported', source: wakesOnReturn(driver) },
    },
    reconcile: async (key, run) => {
      const claim = claims.store.get(key)
      run.waitFor()
      if (claim === undefined || !asksForClass(claim)) return SETTLED
      const volume = volumeOf(claim)
      if (volume === undefined) run.waitFor({ kind: 'volume', name: claim.volumeName })
      if (volume?.kind !== 'own') return SETTLED
      run.waitFor({ kind: 'capability', name: 'MODIFY_VOLUME' })
      if (reported.get(key) !== claim.wantedClass) {
        reported.set(key, claim.wantedClass)
        common.recorder.event(
          referenceTo(PERSISTENT_VOLUME_CLAIMS, claim),
          MODIFY_EVENTS.unsupported(claim.wantedClass, settings.driverName),
        )
      }
      return SETTLED
    },
    pending: claimTable(claims.store, (claim): WorkSubject | undefined => {
      if (!asksForClass(claim) || volumeOf(claim)?.kind !== 'own') return undefined
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

function asksForClass({ phase, wantedClass, currentClass }: ResizerClaim): boolean {
  return phase === 'Bound' && wantedClass !== '' && wantedClass !== currentClass
}

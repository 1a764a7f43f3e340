import { type Controller, keysOf, objectsOf, SETTLED, type WorkSubject } from '@csi-sidecars/controller'
import { PERSISTENT_VOLUME_CLAIMS, referenceTo } from '@csi-sidecars/kube-types'
import type { ResizerClaim } from '../caches/claim.ts'
import type { ResizerVolume } from '../caches/volume.ts'
import { unlessAtRest } from '../claim/reconcile.ts'
import { claimTable, objectOf } from '../claim/subject.ts'
import { causesOfVolumes, claimController, type ResizerTerm } from '../parts.ts'
import { onClaim } from './controller.ts'
import { MODIFY_EVENTS } from './patches.ts'

/**
 * Returns the controller for a driver that cannot modify volumes. It warns about claims that ask for a
 * VolumeAttributesClass. Without the event, users see no reason (kubernetes-csi/external-resizer#603).
 */
export function unsupportedModifyController(parts: ResizerTerm): Controller {
  const { settings, claims, volumes, common, orders } = parts
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
      causesOfVolumes(parts),
    ],
    reconcile: async (key, run) => {
      const claim = claims.store.get(key)
      run.waitFor()
      if (claim === undefined || !asksForClass(claim)) return SETTLED
      const volume = volumeOf(claim)
      if (volume === undefined) run.waitFor({ on: 'volume', name: claim.volumeName })
      if (volume?.kind !== 'own') return SETTLED
      run.waitFor({ on: 'capability', name: 'MODIFY_VOLUME' })
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

function asksForClass({ phase, wantedClass, currentClass }: ResizerClaim): boolean {
  return phase === 'Bound' && wantedClass !== '' && wantedClass !== currentClass
}

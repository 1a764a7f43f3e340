import { unreachable } from '@csi-sidecars/base'
import { failureLog, type Outcome } from '@csi-sidecars/controller'
import type { EventText } from '@csi-sidecars/events'
import { PERSISTENT_VOLUMES, referenceTo } from '@csi-sidecars/kube-types'
import type { ProvisionerVolume } from '../caches/volume.ts'
import { VOLUME_EVENTS } from './events.ts'
import { deletionFailure } from './failure.ts'
import type { VolumeRun } from './run.ts'

interface FailedDeletion {
  readonly volume: ProvisionerVolume
  readonly className: string
  readonly error: unknown
}

/** Records a failed deletion, and returns the outcome that retries the run. */
export function recordFailure({ deps, log }: VolumeRun, { volume, className, error }: FailedDeletion): Outcome {
  const { kind, message } = deletionFailure(error, deps.driver.lost)
  const recordOnce = (text: EventText): void => {
    if (deps.memory.shouldRecord(volume.uid, message))
      deps.recorder.event(referenceTo(PERSISTENT_VOLUMES, volume), text)
  }
  switch (kind) {
    case 'inUse':
      log.v(4)?.info('Volume deletion postponed', { reason: message })
      recordOnce(VOLUME_EVENTS.inUse(message))
      break
    case 'driverLost':
      deps.metrics.deletions.failed({ class: className })
      break
    case 'failed':
      deps.metrics.deletions.failed({ class: className })
      failureLog(error, log)?.error(error, 'Volume deletion failed')
      recordOnce(VOLUME_EVENTS.failed(message))
      break
    default:
      unreachable(kind)
  }
  return { kind: 'retry', cause: error }
}

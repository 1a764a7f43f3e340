import type { WorkSubject } from '@csi-sidecars/controller'
import type { Reader } from '@csi-sidecars/informer'
import type { ResizerClaim } from '../caches/claim.ts'
import { MODIFY_STATUS } from '../caches/names.ts'
import type { AttributesClass } from '../caches/open.ts'
import type { ResizerVolume } from '../caches/volume.ts'
import { objectOf } from '../claim/pending.ts'

/** The caches that the report of pending modifications reads. It sends no request. */
export interface ModificationSources {
  readonly volumes: Pick<Reader<ResizerVolume>, 'get'>
  readonly classes: Pick<Reader<AttributesClass>, 'get'>
  readonly nodeDeployment: boolean
}

/** Describes the pending modification of a claim's volume. Returns undefined if no modification is due. */
export function modificationOf(
  claim: ResizerClaim,
  { volumes, classes, nodeDeployment }: ModificationSources,
): WorkSubject | undefined {
  const { volumeName, phase, wantedClass, currentClass, modifyVolumeStatus } = claim
  if (volumeName === '' || phase !== 'Bound') return undefined
  const inProgress = modifyVolumeStatus?.status === MODIFY_STATUS.inProgress
  const isRequested = wantedClass !== '' && (wantedClass !== currentClass || modifyVolumeStatus !== undefined)
  if (!isRequested && !inProgress) return undefined
  const volume = volumes.get(volumeName)
  if (volume === undefined ? nodeDeployment : volume.kind !== 'own') return undefined
  const work = { operation: 'modify', object: objectOf(claim), volume: volumeName } as const
  if (volume === undefined) return { ...work, obstacle: 'PersistentVolumeMissing' }
  const target = inProgress && modifyVolumeStatus.target !== '' ? modifyVolumeStatus.target : wantedClass
  if (classes.get(target) === undefined) return { ...work, obstacle: 'VolumeAttributesClassMissing' }
  return modifyVolumeStatus?.status === MODIFY_STATUS.infeasible ? { ...work, obstacle: 'Infeasible' } : work
}

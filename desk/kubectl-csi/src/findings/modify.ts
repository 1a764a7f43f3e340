import type { PersistentVolumeClaim } from '@csi-sidecars/kube-types'
import { refOf } from '../facts/facts.ts'
import { claimWorkFinding, type WorkContext } from './claim-work.ts'
import type { FailureCause } from './failure.ts'
import { evidenceOf, type WaitFinding } from './finding.ts'
import { conditionEvidence, sinceOf } from './resize.ts'
import { ROWS } from './rows.ts'

/** Returns the finding of a pending modification. */
export function modifyFinding(claim: PersistentVolumeClaim, context: WorkContext): WaitFinding {
  const requestedClass = claim.spec?.volumeAttributesClassName ?? ''
  const { currentVolumeAttributesClassName: current, modifyVolumeStatus: state } = claim.status ?? {}
  const target = state?.targetVolumeAttributesClassName || requestedClass
  const evidence = evidenceOf(refOf('PersistentVolumeClaim', claim), {
    '.spec.volumeAttributesClassName': requestedClass || undefined,
    '.status.currentVolumeAttributesClassName': current || undefined,
    '.status.modifyVolumeStatus.status': state?.status,
    '.status.modifyVolumeStatus.targetVolumeAttributesClassName': state?.targetVolumeAttributesClassName,
  })
  const silent: FailureCause = {
    reason: state === undefined ? 'NotBegun' : 'DriverSilent',
    waitsFor:
      state === undefined
        ? `its turn to be modified to ${target}`
        : `driver ${context.driver} to modify the volume to ${target}`,
    advice: state === undefined ? ROWS.modifyNotBegun : ROWS.modifying,
  }
  return claimWorkFinding(
    {
      claim,
      operation: 'modify',
      failedReason: 'VolumeModifyFailed',
      doneReasons: ['VolumeModifySuccessful', 'VolumeModifyCanceled'],
      since: sinceOf(claim, ['ModifyingVolume', 'ModifyVolumeError']),
      shownCause: knownCause(claim, context),
      silent,
      refusedAdvice: ROWS.modifying,
      evidence: [...evidence, ...conditionEvidence(claim)],
    },
    context,
  )
}

/** Returns a cause that the claim or a missing class shows. */
function knownCause(claim: PersistentVolumeClaim, { facts, driver }: WorkContext): FailureCause | undefined {
  const requestedClass = claim.spec?.volumeAttributesClassName ?? ''
  const state = claim.status?.modifyVolumeStatus
  if (state?.status === 'Infeasible') {
    return {
      reason: 'ModifyInfeasible',
      waitsFor: `another VolumeAttributesClass: ${driver} refuses the parameters of ${state.targetVolumeAttributesClassName || requestedClass}`,
      advice: ROWS.modifyInfeasible,
    }
  }
  const target = (state?.status === 'InProgress' && state.targetVolumeAttributesClassName) || requestedClass
  if (target === '' || facts.attributesClasses.get(target).kind !== 'absent') return undefined
  return {
    reason: 'VolumeAttributesClassMissing',
    waitsFor: `VolumeAttributesClass ${target}, which does not exist`,
    advice: ROWS.classMissing,
  }
}

import type { PersistentVolume } from '@csi-sidecars/kube-types'
import { type ClusterFacts, driverOf, keyOf, refOf, timeOf } from '../facts/facts.ts'
import { awaitedBy, type ClaimContext, volumeWaits } from '../waits/index.ts'
import { refsOf, volumeContext, volumeNameOf } from './contexts.ts'
import { eventEvidence, lastEvent } from './events.ts'
import type { WaitFinding } from './finding.ts'
import { waitingFinding } from './waiting.ts'

/** Returns findings about a volume that waits to be deleted. Its attachments and its claim have separate findings. */
export function volumeFindings(pv: PersistentVolume, facts: ClusterFacts): readonly WaitFinding[] {
  const object = refOf('PersistentVolume', pv)
  const { metadata, spec, status } = pv
  const { claimRef } = spec ?? {}
  const failed = lastEvent(metadata?.uid, facts, ['VolumeFailedDelete'])
  const context: ClaimContext = {
    ...volumeContext({ kind: 'present', object: pv }, facts),
    failing: (party) => (party === 'csi-provisioner' ? failed?.message : undefined),
  }
  const volumeObject = {
    object,
    since: timeOf(metadata?.deletionTimestamp) ?? timeOf(status?.lastPhaseTransitionTime),
    name: keyOf({ namespace: claimRef?.namespace, name: claimRef?.name ?? '' }),
    driver: driverOf(pv),
    evidence: [
      { object, field: '.metadata.finalizers', value: (metadata?.finalizers ?? []).join(', ') || '(none)' },
      { object, field: '.status.phase', value: status?.phase ?? '(empty)' },
      ...facts.attachments
        .filter((va) => volumeNameOf(va) === object.name)
        .map((va) => ({
          object: refOf('VolumeAttachment', va),
          field: '.spec.source.persistentVolumeName',
          value: object.name,
        })),
      ...eventEvidence(failed),
    ],
  }
  return volumeWaits(context)
    .filter(({ object }) => object.node === undefined)
    .flatMap((wait) => {
      const message = wait.message ?? status?.message
      const ofClaim = wait.reason === 'VolumeBound' && claimRef !== undefined
      const awaits = ofClaim
        ? [{ kind: 'PersistentVolumeClaim', namespace: claimRef.namespace, name: claimRef.name ?? '' }]
        : refsOf(awaitedBy(wait, context), undefined)
      return (
        waitingFinding(message === undefined ? wait : { ...wait, message }, { ...volumeObject, awaits }, facts) ?? []
      )
    })
}

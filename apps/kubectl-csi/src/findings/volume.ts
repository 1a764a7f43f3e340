import type { PersistentVolume } from '@csi-sidecars/kube-types'
import { type Facts, keyOf, refOf, timeOf } from '../facts/facts.ts'
import { volumeNameOf } from './attachment.ts'
import { foreignFinalizerFindings, ownFinalizers } from './finalizers.ts'
import { CERTAIN, type Finding, likely } from './finding.ts'
import { ROWS } from './rows.ts'

/** What the deletion of a volume waits for. What its attachments and its claim wait for is theirs to say. */
export function volumeFindings(pv: PersistentVolume, facts: Facts): readonly Finding[] {
  const object = refOf('PersistentVolume', pv)
  const since = timeOf(pv.metadata?.deletionTimestamp)
  if (since === undefined) return []
  const findings: Finding[] = [...foreignFinalizerFindings(object, pv.metadata, facts)]
  const finalizers = pv.metadata?.finalizers?.join(', ') ?? ''
  const common = { object, waiter: `the deletion of PersistentVolume ${object.name}`, since, atLeast: false }
  const stuck = facts.now - since >= facts.stuckAfterMs
  if (ownFinalizers(pv).length > 0) {
    const attachments = facts.attachments.filter((va) => volumeNameOf(va) === object.name)
    findings.push({
      ...common,
      reason: 'VolumeStillAttached',
      waitsFor: attachments.length === 0 ? 'the attacher to let it go' : `${names(attachments)} to go`,
      stuck,
      ...(attachments.length === 0 ? likely('no VolumeAttachment that names it could be seen') : CERTAIN),
      evidence: [
        { object, field: '.metadata.finalizers', value: finalizers },
        ...attachments.map((va) => ({
          object: refOf('VolumeAttachment', va),
          field: '.spec.source.persistentVolumeName',
          value: object.name,
        })),
      ],
      advice: ROWS.volumeStillAttached,
    })
  }
  const { claimRef } = pv.spec ?? {}
  if (pv.metadata?.finalizers?.includes('kubernetes.io/pv-protection') === true && pv.status?.phase === 'Bound') {
    const claim = keyOf({ namespace: claimRef?.namespace, name: claimRef?.name ?? '' })
    findings.push({
      ...common,
      reason: 'VolumeBound',
      waitsFor: `PersistentVolumeClaim ${claim}, which is bound to it, to be deleted`,
      stuck,
      ...CERTAIN,
      evidence: [
        { object, field: '.metadata.finalizers', value: finalizers },
        { object, field: '.status.phase', value: 'Bound' },
      ],
      advice: ROWS.foreignFinalizer,
    })
  }
  return findings
}

function names(attachments: Facts['attachments']): string {
  const all = attachments.map(({ metadata }) => metadata?.name ?? '')
  return `${all.length === 1 ? 'VolumeAttachment' : 'VolumeAttachments'} ${all.join(', ')}`
}

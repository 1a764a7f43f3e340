import type { VolumeAttachment } from '@csi-sidecars/kube-types'
import type { Reason } from '@csi-sidecars/waits'
import { type ClusterFacts, objectOf, refOf, timeOf } from '../facts/facts.ts'
import { attachmentCause } from './attachment-cause.ts'
import { foreignFinalizerFindings, ownFinalizers } from './finalizers.ts'
import { type Evidence, evidenceOf, sidecarOf, stuckNow, type WaitFinding } from './finding.ts'
import { doubtOf, hasNoLeader, leadershipOf, leaseEvidence, noLeaderText } from './leadership.ts'
import { pendingEvidence, pendingOf } from './pending.ts'
import { ROWS } from './rows.ts'

const SIDECAR = 'external-attacher'

/** Returns findings about a pending attach or detach. Empty if nothing is pending. */
export function attachmentFindings(va: VolumeAttachment, facts: ClusterFacts): readonly WaitFinding[] {
  const { metadata, spec, status } = va
  const deletedAt = timeOf(metadata?.deletionTimestamp)
  if (deletedAt === undefined) return status?.attached === true ? [] : [waiting(va, facts)]
  if (ownFinalizers(va).length === 0) return foreignFinalizerFindings(refOf('VolumeAttachment', va), metadata, facts)
  return spec === undefined ? [] : [waiting(va, facts)]
}

function waiting(va: VolumeAttachment, facts: ClusterFacts): WaitFinding {
  const { attacher = '' } = va.spec ?? {}
  const deletedAt = timeOf(va.metadata?.deletionTimestamp)
  const since = deletedAt ?? timeOf(va.metadata?.creationTimestamp)
  const leadership = leadershipOf(facts, SIDECAR, attacher)
  const pending = pendingOf(facts, refOf('VolumeAttachment', va), ['attach', 'detach'])
  const failureCause = attachmentCause(va, { facts, leadership, pending })
  const common = {
    object: refOf('VolumeAttachment', va),
    waiter: sidecarOf(SIDECAR, attacher),
    since,
    atLeast: false,
    evidence: [
      ...failureCause.evidence,
      ...stateEvidence(va),
      // The cause itself has the evidence of a missing node.
      ...(failureCause.reason === 'NodeGone' ? [] : nodeEvidence(va, facts)),
      ...leaseEvidence(leadership, facts),
      ...pendingEvidence(pending),
    ],
  }
  const stuck = (reason: Reason): boolean => stuckNow(reason, { since, pending, facts })
  if (hasNoLeader(leadership)) {
    // Without a leader, the last error is still shown, because the next leader will probably meet it again.
    const waitsFor = noLeaderText(leadership, facts, failureCause.silent ? undefined : failureCause.waitsFor)
    const noLeader = { reason: 'NoLeader' as const, waitsFor, advice: ROWS.noLeader, ...doubtOf(leadership) }
    return { ...common, ...noLeader, stuck: stuck('NoLeader') }
  }
  const { reason, waitsFor, advice, sure, doubt } = failureCause
  return { ...common, reason, waitsFor, advice, stuck: stuck(reason), sure, doubt }
}

function stateEvidence(va: VolumeAttachment): readonly Evidence[] {
  const { metadata, spec, status } = va
  return evidenceOf(refOf('VolumeAttachment', va), {
    '.metadata.creationTimestamp': metadata?.creationTimestamp,
    '.metadata.deletionTimestamp': metadata?.deletionTimestamp,
    '.metadata.finalizers': metadata?.finalizers?.join(', '),
    '.spec.nodeName': spec?.nodeName,
    '.spec.source.persistentVolumeName': spec?.source.persistentVolumeName,
    '.status.attached': String(status?.attached ?? '(no status)'),
    '.status.attachError.message': status?.attachError?.message,
    '.status.attachError.time': status?.attachError?.time,
    '.status.detachError.message': status?.detachError?.message,
    '.status.detachError.time': status?.detachError?.time,
  })
}

/** Returns evidence that the node is missing or not ready. This does not block a detach, but may explain an error. */
function nodeEvidence({ spec }: VolumeAttachment, { nodes }: ClusterFacts): readonly Evidence[] {
  const name = spec?.nodeName ?? ''
  const object = { kind: 'Node', name }
  const node = nodes.get(name)
  if (node.kind === 'absent') return [{ object, field: '.metadata.name', value: '(there is no such object)' }]
  const ready = objectOf(node)?.status?.conditions?.find(({ type }) => type === 'Ready')
  if (ready === undefined || ready.status === 'True') return []
  const value = [ready.status, ready.lastTransitionTime && `since ${ready.lastTransitionTime}`, ready.reason]
  return [{ object, field: '.status.conditions[Ready]', value: value.filter(Boolean).join(', ') }]
}

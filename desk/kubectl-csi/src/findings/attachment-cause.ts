import type { CSINode, VolumeAttachment } from '@csi-sidecars/kube-types'
import { type ClusterFacts, type KindRef, objectOf } from '../facts/facts.ts'
import type { PendingItem } from '../facts/pending.ts'
import { causeOf, type FailureCause, nodeFullCause, nodeWithoutDriver, volumeMissing } from './failure.ts'
import { CERTAIN, type Evidence, likely, possible, type WaitFinding } from './finding.ts'
import { ALIKE, type Leadership, leaderCause, NO_LEASES } from './leadership.ts'
import { reasonOf } from './pending.ts'
import { ROWS } from './rows.ts'

/** The cause of a pending attach or detach. */
export interface AttachmentCause extends FailureCause, Pick<WaitFinding, 'sure' | 'doubt' | 'evidence'> {
  /** True if no failure is known, so that the work may still be under way. */
  readonly silent: boolean
}

interface Surroundings {
  readonly facts: ClusterFacts
  readonly leadership: Leadership
  readonly pending: PendingItem | undefined
}

/** Returns the cause from the current objects, else from the last error, else for work without an error. */
export function attachmentCause(va: VolumeAttachment, surroundings: Surroundings): AttachmentCause {
  return seenNow(va, surroundings.facts) ?? saidLast(va, surroundings) ?? silence(va, surroundings)
}

/** Returns a cause that the current objects show. It takes precedence over earlier messages. */
function seenNow(va: VolumeAttachment, facts: ClusterFacts): AttachmentCause | undefined {
  const { volumes, csiNodes, nodes } = facts
  const { attacher = '', nodeName = '', source } = va.spec ?? {}
  const deleting = va.metadata?.deletionTimestamp !== undefined
  const pv = source?.persistentVolumeName
  if (pv !== undefined && volumes.get(pv).kind === 'absent') {
    const evidence = absent({ kind: 'PersistentVolume', name: pv })
    return { ...volumeMissing(pv, deleting), ...CERTAIN, silent: false, evidence }
  }
  if (deleting) return undefined
  if (nodes.get(nodeName).kind === 'absent' && csiNodes.get(nodeName).kind === 'absent') {
    const evidence = absent({ kind: 'Node', name: nodeName })
    return { ...nodeLost(nodeName), ...CERTAIN, silent: false, evidence }
  }
  const object: KindRef = { kind: 'CSINode', name: nodeName }
  const csiNode = csiNodes.get(nodeName)
  const missingDriver = { ...nodeWithoutDriver(nodeName, attacher), ...CERTAIN, silent: false }
  if (csiNode.kind === 'absent') return { ...missingDriver, evidence: absent(object) }
  const found = objectOf(csiNode)
  if (found === undefined) return undefined
  const names = (found.spec.drivers ?? []).map(({ name }) => name)
  if (names.includes(attacher)) return migrationOff(va, found, facts) ?? nodeFull(va, found, facts)
  return {
    ...missingDriver,
    evidence: [{ object, field: '.spec.drivers[*].name', value: names.join(', ') || '(none)' }],
  }
}

function nodeLost(node: string): FailureCause {
  return { reason: 'NodeGone', waitsFor: `node ${node}, which does not exist`, advice: ROWS.nodeLost }
}

const MIGRATED_PLUGINS = 'storage.alpha.kubernetes.io/migrated-plugins'
const MIGRATED_TO = 'pv.kubernetes.io/migrated-to'

/** Returns a cause if the volume is an in-tree one and its migration is off on the node. */
function migrationOff(
  { spec }: VolumeAttachment,
  { metadata }: CSINode,
  { volumes }: ClusterFacts,
): AttachmentCause | undefined {
  const pv = objectOf(volumes.get(spec?.source?.persistentVolumeName ?? ''))
  const plugins = metadata?.annotations?.[MIGRATED_PLUGINS]
  if (pv?.metadata?.annotations?.[MIGRATED_TO] === undefined || (plugins ?? '') !== '') return undefined
  const object: KindRef = { kind: 'CSINode', name: metadata?.name ?? '' }
  return {
    reason: 'MigrationOff',
    waitsFor: `the kubelet of node ${object.name} to have migration on, since the volume is an in-tree one`,
    advice: ROWS.migrationOff,
    ...likely('a kubelet that no longer writes that annotation looks the same'),
    silent: true,
    evidence: [{ object, field: `.metadata.annotations[${MIGRATED_PLUGINS}]`, value: plugins ?? '(none)' }],
  }
}

/** Returns a cause if the node already has its maximum number of volumes of the driver. */
function nodeFull(va: VolumeAttachment, csiNode: CSINode, { neighbours }: ClusterFacts): AttachmentCause | undefined {
  const { attacher: driver = '', nodeName: node = '' } = va.spec ?? {}
  const most = csiNode.spec.drivers?.find(({ name }) => name === driver)?.allocatable?.count
  const attached = neighbours.filter(
    ({ spec, status }) => spec?.attacher === driver && spec.nodeName === node && status?.attached === true,
  ).length
  if (most === undefined || attached < most) return undefined
  const object: KindRef = { kind: 'CSINode', name: node }
  return {
    ...nodeFullCause(node, driver),
    ...likely('the driver may allow more than its CSINode says'),
    silent: true,
    evidence: [
      { object, field: `.spec.drivers[${driver}].allocatable.count`, value: String(most) },
      { object: { kind: 'VolumeAttachments of node', name: node }, field: 'attached', value: String(attached) },
    ],
  }
}

function absent(object: KindRef): readonly Evidence[] {
  return [{ object, field: '.metadata.name', value: '(there is no such object)' }]
}

/** Returns the cause that the last error message names, from the status or from the sidecar. */
function saidLast(va: VolumeAttachment, { pending }: Surroundings): AttachmentCause | undefined {
  const { attacher = '', nodeName: node } = va.spec ?? {}
  const deleting = va.metadata?.deletionTimestamp !== undefined
  const message = (deleting ? va.status?.detachError : va.status?.attachError)?.message ?? pending?.message
  if (message === undefined) return undefined
  const context = { sidecar: 'external-attacher', driver: attacher, node, deleting } as const
  const failureCause = causeOf(message, context)
  const sure = likely('it is what the last try has ended with, and may have changed since')
  if (failureCause !== undefined) return { ...failureCause, ...sure, silent: false, evidence: [] }
  return {
    reason: deleting ? 'DetachFails' : 'AttachFails',
    waitsFor: `what the last try has failed for: ${message}`,
    advice: deleting ? ROWS.detachFails : ROWS.driverRefuses,
    ...sure,
    silent: false,
    evidence: [],
  }
}

/** Returns the cause of pending work without a known error. */
function silence(va: VolumeAttachment, { facts, leadership, pending }: Surroundings): AttachmentCause {
  const { attacher: driver = '' } = va.spec ?? {}
  const deleting = va.metadata?.deletionTimestamp !== undefined
  const advice = deleting ? ROWS.detachSilent : ROWS.attachNotBegun
  const common = { advice, silent: true, evidence: [] }
  if (pending !== undefined && pending.waitsFor.length > 0) {
    return { ...common, ...CERTAIN, reason: reasonOf(pending), waitsFor: pending.waitsFor.join(', ') }
  }
  if (pending?.state === 'calling') {
    const waitsFor = `driver ${driver} to answer its call`
    return { ...common, ...CERTAIN, reason: 'DriverCalled', waitsFor, advice: ROWS.driverTooSlow }
  }
  const leader = leaderCause(leadership, facts)
  if (leader !== undefined) return { ...common, ...leader }
  if (leadership.kind === 'none') {
    const waitsFor = `an external-attacher for ${driver}, of which there is no sign`
    const doubt = 'without leader election, or with its Lease under another name, it leaves no sign'
    return { ...common, ...possible(doubt), reason: 'NoSidecarSeen', waitsFor }
  }
  const begun = !deleting && va.metadata?.finalizers !== undefined
  const waitsFor = begun ? `driver ${driver} to answer` : `its turn, or for driver ${driver} to answer`
  const sure = leadership.kind === 'unseen' ? possible(NO_LEASES) : likely(ALIKE)
  return { ...common, ...sure, reason: 'DriverSilent', waitsFor, advice: begun ? ROWS.driverTooSlow : advice }
}

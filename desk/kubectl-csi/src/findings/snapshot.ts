import type { PersistentVolumeClaim, VolumeSnapshot, VolumeSnapshotContent } from '@csi-sidecars/kube-types'
import { isStuck, SNAPSHOT_REASONS, type SnapshotReason } from '@csi-sidecars/waits'
import { isRestoredFrom, sourceOf } from '../facts/collect-snapshots.ts'
import { type ClusterFacts, type KindRef, keyOf, type ReadResult, refOf, textOf, timeOf } from '../facts/facts.ts'
import { contentWait, snapshotWait, sourceWait } from '../waits/index.ts'
import { eventEvidence, lastEvent } from './events.ts'
import { causeOf, type FailureCause } from './failure.ts'
import { foreignFinalizerFindings } from './finalizers.ts'
import { CERTAIN, evidenceOf, likely, possible, type RowKey, sidecarOf, stuckNow, type WaitFinding } from './finding.ts'
import {
  ALIKE,
  doubtOf,
  hasNoLeader,
  leaderCause,
  leadershipOf,
  leaseEvidence,
  NO_LEASES,
  noLeaderText,
} from './leadership.ts'
import { pendingEvidence, pendingOf } from './pending.ts'
import { ROWS } from './rows.ts'

const SNAPSHOT = 'snapshot.storage.kubernetes.io/volumesnapshot'
const MEMBER = 'groupsnapshot.storage.k8s.io/volumeGroupSnapshotHandle'
const DEFAULT_CLASS = 'snapshot.storage.kubernetes.io/is-default-class'
const SIDECAR = 'external-snapshotter'
const CONTROLLER = 'the snapshot-controller'

/** Reports whether an object exists. Returns undefined if it could not be read. */
function existenceOf({ kind }: ReadResult<unknown>): 'missing' | 'present' | undefined {
  if (kind === 'unseen') return undefined
  return kind === 'absent' ? 'missing' : 'present'
}

function presenceOf<T>(seen: ReadResult<T>, waits: (object: T) => boolean): ReturnType<typeof existenceOf> | 'waits' {
  return seen.kind === 'present' && waits(seen.object) ? 'waits' : existenceOf(seen)
}

const isUnbound = ({ status }: PersistentVolumeClaim): boolean => status?.phase !== 'Bound'
const isNotReady = ({ status }: VolumeSnapshot): boolean => status?.readyToUse !== true

/** Reports whether the named class exists. Returns undefined without a name, or if the class could not be read. */
function classPresence(name: string | undefined, facts: ClusterFacts): 'missing' | 'present' | undefined {
  return name === undefined ? undefined : existenceOf(facts.snapshotClasses.get(name))
}

/** Returns a finding if a VolumeSnapshot waits for its claim, its class, its content or a restore. */
export function snapshotFindings(snapshot: VolumeSnapshot, facts: ClusterFacts): readonly WaitFinding[] {
  const object = refOf('VolumeSnapshot', snapshot)
  const { metadata, spec, status } = snapshot
  const { namespace } = object
  const claimName = spec.source.persistentVolumeClaimName
  const contentName = status?.boundVolumeSnapshotContentName ?? spec.source.volumeSnapshotContentName
  const className = spec.volumeSnapshotClassName
  const restoring = facts.claims.present.filter((claim) => isRestoredFrom(object, claim))
  const content = contentName === undefined ? 'none' : existenceOf(facts.contents.get(contentName))
  const hasDefault = facts.snapshotClasses.present.some(
    (each) => each.metadata?.annotations?.[DEFAULT_CLASS] === 'true',
  )
  const noClass = facts.snapshotClasses.complete && !hasDefault ? 'none' : undefined
  const namedClass = className === undefined ? noClass : classPresence(className, facts)
  const deletedAt = timeOf(metadata?.deletionTimestamp)
  const reason = snapshotWait({
    deleting: deletedAt !== undefined,
    finalizers: metadata?.finalizers ?? [],
    ready: !isNotReady(snapshot),
    error: status?.error?.message,
    claim:
      claimName === undefined
        ? undefined
        : presenceOf(facts.claims.get(keyOf({ namespace, name: claimName })), isUnbound),
    class: claimName === undefined ? undefined : namedClass,
    content,
    restoring: restoring.map(({ metadata: of }) => of?.name ?? ''),
  })
  if (reason === undefined) return foreignFinalizerFindings(object, withoutOwn(metadata), facts)
  const claim: KindRef = { kind: 'PersistentVolumeClaim', namespace, name: claimName ?? '' }
  const boundContent: KindRef = { kind: 'VolumeSnapshotContent', name: contentName ?? '' }
  const [waitsFor, advice, awaits = []] = (
    {
      SourceClaimMissing: [`${textOf(claim)}, which does not exist`, ROWS.snapshotSource],
      SourceClaimNotBound: [`${textOf(claim)} to be bound`, ROWS.snapshotSource, [claim]],
      SnapshotClassMissing: [`VolumeSnapshotClass ${className}, which does not exist`, ROWS.snapshotClass],
      NoSnapshotClass: ['a VolumeSnapshotClass: it names none, and no class is the default', ROWS.snapshotClass],
      ContentMissing: [`${textOf(boundContent)}, which does not exist`, ROWS.contentMissing],
      ContentNotCreated: [`${CONTROLLER} to create a VolumeSnapshotContent`, ROWS.snapshotController],
      ContentNotReady: [`${textOf(boundContent)} to be ready`, ROWS.snapshotContent, [boundContent]],
      SnapshotInUse: [
        `${restoring.map((each) => textOf(refOf('PersistentVolumeClaim', each))).join(', ')} to be bound`,
        ROWS.snapshotInUse,
        restoring.map((each) => refOf('PersistentVolumeClaim', each)),
      ],
      ContentDeleting: [`${textOf(boundContent)} to be deleted`, ROWS.snapshotContent, [boundContent]],
    } as Partial<Record<SnapshotReason, readonly [string, RowKey, (readonly KindRef[])?]>>
  )[reason] ?? [`${CONTROLLER} to remove its finalizers`, ROWS.snapshotController]
  const since = deletedAt ?? timeOf(metadata?.creationTimestamp)
  const remedy = SNAPSHOT_REASONS[reason]
  const controllerActs = reason === 'ContentNotCreated' || reason === 'SnapshotDeleting'
  return [
    {
      reason,
      object,
      waiter: deletedAt === undefined ? 'the snapshot' : `the deletion of ${textOf(object)}`,
      waitsFor,
      since,
      atLeast: false,
      remedy,
      awaits,
      stuck: isStuck(remedy, { since, now: facts.now, olderThanMs: facts.stuckAfterMs }),
      ...(controllerActs ? likely('a snapshot-controller that does not run looks the same') : CERTAIN),
      evidence: evidenceOf(object, {
        '.metadata.deletionTimestamp': metadata?.deletionTimestamp,
        '.metadata.finalizers': metadata?.finalizers?.join(', '),
        '.spec.source.persistentVolumeClaimName': claimName,
        '.spec.volumeSnapshotClassName': className,
        '.status.boundVolumeSnapshotContentName': status?.boundVolumeSnapshotContentName,
        '.status.readyToUse': String(status?.readyToUse ?? '(no status)'),
        '.status.error.message': status?.error?.message,
      }),
      advice,
    },
  ]
}

/** Returns the metadata without the finalizers of the snapshot-controller, because other findings explain them. */
function withoutOwn(metadata: VolumeSnapshot['metadata']): VolumeSnapshot['metadata'] {
  const finalizers = metadata?.finalizers?.filter((name) => !name.startsWith('snapshot.storage.kubernetes.io/'))
  return metadata && { ...metadata, ...(finalizers && { finalizers }) }
}

/** Returns a finding if a VolumeSnapshotContent waits for the snapshotter, its driver or its VolumeSnapshot. */
export function contentFindings(content: VolumeSnapshotContent, facts: ClusterFacts): readonly WaitFinding[] {
  const object = refOf('VolumeSnapshotContent', content)
  const { metadata, spec, status } = content
  const { driver, volumeSnapshotClassName: className, source } = spec
  const { namespace, name = '', uid } = spec.volumeSnapshotRef
  const snapshot: KindRef = { kind: 'VolumeSnapshot', namespace, name }
  const recorded = facts.snapshots.get(keyOf(snapshot))
  const isOther = recorded.kind === 'present' && recorded.object.metadata?.uid !== uid
  const { annotations = {} } = metadata ?? {}
  const failed = lastEvent(metadata?.uid, facts, ['SnapshotDeleteError'])
  const deletedAt = timeOf(metadata?.deletionTimestamp)
  const reason = contentWait({
    deleting: deletedAt !== undefined,
    finalizers: metadata?.finalizers ?? [],
    ready: status?.readyToUse === true,
    hasHandle: status?.snapshotHandle !== undefined,
    error: status?.error?.message,
    deleteError: failed?.message,
    beingCreated: annotations[`${SNAPSHOT}-being-created`] !== undefined,
    // A content that was never bound to a VolumeSnapshot needs no annotation: the snapshotter deletes its snapshot.
    beingDeleted:
      annotations[`${SNAPSHOT}-being-deleted`] !== undefined || (!uid && source.snapshotHandle !== undefined),
    isMember: annotations[MEMBER] !== undefined,
    class: classPresence(className, facts),
    snapshot: isOther ? 'missing' : existenceOf(recorded),
  })
  if (reason === undefined) return foreignFinalizerFindings(object, withoutOwn(metadata), facts)
  const failureCause = contentCause(reason, { driver, className, message: status?.error?.message, snapshot, uid })
  const ofSnapshot = reason === 'SnapshotNotDeleted' || reason === 'SnapshotMissing'
  const leadership = leadershipOf(facts, SIDECAR, driver)
  const pending = pendingOf(facts, object, ['create-snapshot', 'delete-snapshot'])
  const since = timeOf(pending?.since) ?? deletedAt ?? timeOf(metadata?.creationTimestamp)
  const finding = (failure: FailureCause, sure: Pick<WaitFinding, 'sure' | 'doubt'>): WaitFinding => ({
    object,
    waiter: ofSnapshot ? `the deletion of ${textOf(object)}` : sidecarOf(SIDECAR, driver),
    since,
    atLeast: false,
    remedy: SNAPSHOT_REASONS[reason],
    awaits: reason === 'SnapshotNotDeleted' ? [snapshot] : [],
    ...failure,
    ...sure,
    stuck: stuckNow(failure.reason, { since, pending, facts }) || SNAPSHOT_REASONS[reason] === 'blocked',
    evidence: [
      ...evidenceOf(object, {
        '.metadata.deletionTimestamp': metadata?.deletionTimestamp,
        '.metadata.annotations': Object.keys(annotations).join(', ') || undefined,
        '.spec.deletionPolicy': spec.deletionPolicy,
        '.spec.volumeSnapshotClassName': className,
        '.status.snapshotHandle': status?.snapshotHandle,
        '.status.readyToUse': String(status?.readyToUse ?? '(no status)'),
        '.status.error.message': status?.error?.message,
        '.status.error.time': status?.error?.time,
      }),
      ...eventEvidence(failed),
      ...leaseEvidence(leadership, facts),
      ...pendingEvidence(pending),
    ],
  })
  if (hasNoLeader(leadership) && !ofSnapshot) {
    const waitsFor = noLeaderText(leadership, facts, reason === 'SnapshotNotBegun' ? undefined : failureCause.waitsFor)
    return [finding({ reason: 'NoLeader', waitsFor, advice: ROWS.noLeader }, doubtOf(leadership))]
  }
  const isSilent = reason === 'SnapshotNotBegun' || reason === 'SnapshotDeleting'
  const leader = isSilent ? leaderCause(leadership, facts) : undefined
  if (leader !== undefined) return [finding(leader, leader)]
  if (leadership.kind === 'unseen' && isSilent) return [finding(failureCause, possible(NO_LEASES))]
  return [finding(failureCause, isSilent ? likely(ALIKE) : CERTAIN)]
}

interface ContentFacts {
  readonly driver: string
  readonly className: string | undefined
  readonly message: string | undefined
  readonly snapshot: KindRef
  readonly uid: string | undefined
}

function contentCause(
  reason: SnapshotReason,
  { driver, className, message = '', snapshot, uid }: ContentFacts,
): FailureCause {
  const failureCause = reason === 'SnapshotFails' ? causeOf(message, { sidecar: SIDECAR, driver }) : undefined
  const [waitsFor, advice] = (
    {
      SnapshotClassMissing: [`VolumeSnapshotClass ${className}, which does not exist`, ROWS.snapshotClass],
      SnapshotFails: [`what the last try has failed for: ${message}`, ROWS.snapshotFails],
      SnapshotNotReady: [`driver ${driver} to finish the snapshot`, ROWS.snapshotNotReady],
      MemberNotReported: [`${CONTROLLER} to note the handles of the group`, ROWS.snapshotController],
      CreationUncertain: [
        `driver ${driver} to answer a creation that may still run, before the snapshot is deleted`,
        ROWS.snapshotUncertain,
      ],
      SnapshotMissing: [`${textOf(snapshot)} with UID ${uid}, which does not exist`, ROWS.snapshotMissing],
      SnapshotNotDeleted: [`${textOf(snapshot)} to be deleted`, ROWS.snapshotBound],
      DeleteSnapshotFails: [`driver ${driver} to delete the snapshot, which it has refused`, ROWS.snapshotDeletion],
      SnapshotDeleting: [`driver ${driver} to delete the snapshot`, ROWS.snapshotDeletion],
    } as Partial<Record<SnapshotReason, readonly [string, RowKey]>>
  )[reason] ?? ['its first try, of which there is no sign yet', ROWS.snapshotNotBegun]
  return { reason: failureCause?.reason ?? reason, waitsFor: failureCause?.waitsFor ?? waitsFor, advice }
}

/** Returns a finding if a claim without a volume waits for its data source. Undefined if the source is usable. */
export function sourceFinding(claim: PersistentVolumeClaim, facts: ClusterFacts): WaitFinding | undefined {
  const source = sourceOf(claim)
  if (source === undefined || claim.spec?.volumeName) return undefined
  const { kind } = source
  const presence =
    kind === 'VolumeSnapshot'
      ? presenceOf(facts.snapshots.get(keyOf(source)), isNotReady)
      : presenceOf(facts.claims.get(keyOf(source)), isUnbound)
  const reason = sourceWait({ kind, state: presence })
  if (reason === undefined) return undefined
  const object = refOf('PersistentVolumeClaim', claim)
  const since = timeOf(claim.metadata?.creationTimestamp)
  const remedy = SNAPSHOT_REASONS[reason]
  const state = kind === 'VolumeSnapshot' ? 'to be ready' : 'to be bound'
  return {
    reason,
    object,
    waiter: 'the claim',
    waitsFor: presence === 'missing' ? `${textOf(source)}, which does not exist` : `${textOf(source)} ${state}`,
    since,
    atLeast: false,
    remedy,
    awaits: presence === 'missing' ? [] : [source],
    stuck: isStuck(remedy, { since, now: facts.now, olderThanMs: facts.stuckAfterMs }),
    ...CERTAIN,
    evidence: [{ object, field: '.spec.dataSource', value: textOf(source) }],
    advice: kind === 'VolumeSnapshot' ? ROWS.restoreSource : ROWS.cloneSource,
  }
}

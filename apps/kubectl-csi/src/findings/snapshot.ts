import type { PersistentVolumeClaim, VolumeSnapshot, VolumeSnapshotContent } from '@csi-sidecars/kube-types'
import {
  contentWait,
  isStuck,
  SNAPSHOT_REASONS,
  type SnapshotReason,
  snapshotWait,
  sourceWait,
} from '@csi-sidecars/waits'
import { sourceOf } from '../facts/collect-snapshots.ts'
import { type ClusterFacts, type KindRef, keyOf, type ReadResult, refOf, textOf, timeOf } from '../facts/facts.ts'
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

function presenceOf<T>(
  seen: ReadResult<T>,
  waits: (object: T) => boolean,
): 'missing' | 'waits' | 'present' | undefined {
  if (seen.is === 'unseen') return undefined
  if (seen.is === 'absent') return 'missing'
  return waits(seen.object) ? 'waits' : 'present'
}

const isUnbound = ({ status }: PersistentVolumeClaim): boolean => status?.phase !== 'Bound'
const isNotReady = ({ status }: VolumeSnapshot): boolean => status?.readyToUse !== true
const never = (): boolean => false

/** Reports whether the named class exists. Returns undefined without a name, or if the class could not be read. */
function classPresence(name: string | undefined, facts: ClusterFacts): 'missing' | 'present' | undefined {
  if (name === undefined) return undefined
  const is = presenceOf(facts.snapshotClasses.get(name), never)
  return is === 'waits' ? undefined : is
}

/** Returns a finding if a VolumeSnapshot waits for its claim, its class, its content or a restore. */
export function snapshotFindings(snapshot: VolumeSnapshot, facts: ClusterFacts): readonly WaitFinding[] {
  const object = refOf('VolumeSnapshot', snapshot)
  const { metadata, spec, status } = snapshot
  const { namespace } = object
  const claimName = spec.source.persistentVolumeClaimName
  const contentName = status?.boundVolumeSnapshotContentName ?? spec.source.volumeSnapshotContentName
  const className = spec.volumeSnapshotClassName
  const restoring = facts.claims.present.filter((claim) => {
    const source = sourceOf(claim)
    return isUnbound(claim) && source?.kind === 'VolumeSnapshot' && keyOf(source) === keyOf(object)
  })
  const content = contentName === undefined ? 'none' : presenceOf(facts.contents.get(contentName), never)
  const hasDefault = facts.snapshotClasses.present.some(
    (each) => each.metadata?.annotations?.[DEFAULT_CLASS] === 'true',
  )
  const noClass = facts.snapshotClasses.complete && !hasDefault ? 'none' : undefined
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
    class: claimName === undefined ? undefined : className === undefined ? noClass : classPresence(className, facts),
    content: content === 'waits' ? undefined : content,
    restoring: restoring.map(({ metadata: of }) => of?.name ?? ''),
  })
  if (reason === undefined) return foreignFinalizerFindings(object, withoutOwn(metadata), facts)
  const claim: KindRef = { kind: 'PersistentVolumeClaim', namespace, name: claimName ?? '' }
  const bound: KindRef = { kind: 'VolumeSnapshotContent', name: contentName ?? '' }
  const [waitsFor, advice, awaits = []] = (
    {
      SourceClaimMissing: [`${textOf(claim)}, which does not exist`, ROWS.snapshotSource],
      SourceClaimNotBound: [`${textOf(claim)} to be bound`, ROWS.snapshotSource, [claim]],
      SnapshotClassMissing: [`VolumeSnapshotClass ${className}, which does not exist`, ROWS.snapshotClass],
      NoSnapshotClass: ['a VolumeSnapshotClass: it names none, and no class is the default', ROWS.snapshotClass],
      ContentMissing: [`${textOf(bound)}, which does not exist`, ROWS.snapshotContent],
      ContentNotCreated: [`${CONTROLLER} to create a VolumeSnapshotContent`, ROWS.snapshotController],
      ContentNotReady: [`${textOf(bound)} to be ready`, ROWS.snapshotContent, [bound]],
      SnapshotInUse: [
        `${restoring.map((each) => textOf(refOf('PersistentVolumeClaim', each))).join(', ')} to be bound`,
        ROWS.snapshotInUse,
        restoring.map((each) => refOf('PersistentVolumeClaim', each)),
      ],
      ContentDeleting: [`${textOf(bound)} to be deleted`, ROWS.snapshotContent, [bound]],
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
  const { driver, volumeSnapshotClassName: className } = spec
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
    beingDeleted: annotations[`${SNAPSHOT}-being-deleted`] !== undefined,
    isMember: annotations[MEMBER] !== undefined,
    class: classPresence(className, facts),
  })
  if (reason === undefined) return foreignFinalizerFindings(object, withoutOwn(metadata), facts)
  const { namespace, name = '' } = spec.volumeSnapshotRef
  const snapshot: KindRef = { kind: 'VolumeSnapshot', namespace, name }
  const cause = contentCause(reason, { driver, className, message: status?.error?.message, snapshot })
  const leadership = leadershipOf(facts, SIDECAR, driver)
  const pending = pendingOf(facts, object, ['create-snapshot', 'delete-snapshot'])
  const since = timeOf(pending?.since) ?? deletedAt ?? timeOf(metadata?.creationTimestamp)
  const finding = (given: FailureCause, sure: Pick<WaitFinding, 'sure' | 'doubt'>): WaitFinding => ({
    object,
    waiter: reason === 'SnapshotNotDeleted' ? `the deletion of ${textOf(object)}` : sidecarOf(SIDECAR, driver),
    since,
    atLeast: false,
    remedy: SNAPSHOT_REASONS[reason],
    awaits: reason === 'SnapshotNotDeleted' ? [snapshot] : [],
    ...given,
    ...sure,
    stuck: stuckNow(given.reason, { since, pending, facts }) || SNAPSHOT_REASONS[reason] === 'blocked',
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
  if (hasNoLeader(leadership) && reason !== 'SnapshotNotDeleted') {
    const waitsFor = noLeaderText(leadership, facts, reason === 'SnapshotNotBegun' ? undefined : cause.waitsFor)
    return [finding({ reason: 'NoLeader', waitsFor, advice: ROWS.noLeader }, doubtOf(leadership))]
  }
  const isSilent = reason === 'SnapshotNotBegun' || reason === 'SnapshotDeleting'
  const leader = isSilent ? leaderCause(leadership, facts) : undefined
  if (leader !== undefined) return [finding(leader, leader)]
  if (leadership.is === 'unseen' && isSilent) return [finding(cause, possible(NO_LEASES))]
  return [finding(cause, isSilent ? likely(ALIKE) : CERTAIN)]
}

interface ContentFacts {
  readonly driver: string
  readonly className: string | undefined
  readonly message: string | undefined
  readonly snapshot: KindRef
}

function contentCause(
  reason: SnapshotReason,
  { driver, className, message = '', snapshot }: ContentFacts,
): FailureCause {
  switch (reason) {
    case 'SnapshotClassMissing':
      return { reason, waitsFor: `VolumeSnapshotClass ${className}, which does not exist`, advice: ROWS.snapshotClass }
    case 'SnapshotFails': {
      const cause = causeOf(message, { sidecar: SIDECAR, driver })
      const waitsFor = cause?.waitsFor ?? `what the last try has failed for: ${message}`
      return { reason: cause?.reason ?? reason, waitsFor, advice: ROWS.snapshotFails }
    }
    case 'SnapshotNotReady':
      return { reason, waitsFor: `driver ${driver} to finish the snapshot`, advice: ROWS.snapshotNotReady }
    case 'MemberNotReported':
      return { reason, waitsFor: `${CONTROLLER} to note the handles of the group`, advice: ROWS.snapshotController }
    case 'CreationUncertain':
      return {
        reason,
        waitsFor: `driver ${driver} to answer a creation that may still run, before the snapshot is deleted`,
        advice: ROWS.snapshotUncertain,
      }
    case 'SnapshotNotDeleted':
      return { reason, waitsFor: `${textOf(snapshot)} to be deleted`, advice: ROWS.snapshotBound }
    case 'DeleteSnapshotFails':
      return {
        reason,
        waitsFor: `driver ${driver} to delete the snapshot, which it has refused`,
        advice: ROWS.snapshotDeletion,
      }
    case 'SnapshotDeleting':
      return { reason, waitsFor: `driver ${driver} to delete the snapshot`, advice: ROWS.snapshotDeletion }
    default:
      return { reason, waitsFor: 'its first try, of which there is no sign yet', advice: ROWS.snapshotNotBegun }
  }
}

/** Returns a finding if a claim without a volume waits for its data source. Undefined if the source is usable. */
export function sourceFinding(claim: PersistentVolumeClaim, facts: ClusterFacts): WaitFinding | undefined {
  const source = sourceOf(claim)
  if (source === undefined || claim.spec?.volumeName) return undefined
  const { kind } = source
  const is =
    kind === 'VolumeSnapshot'
      ? presenceOf(facts.snapshots.get(keyOf(source)), isNotReady)
      : presenceOf(facts.claims.get(keyOf(source)), isUnbound)
  const reason = sourceWait({ kind, is })
  if (reason === undefined) return undefined
  const object = refOf('PersistentVolumeClaim', claim)
  const since = timeOf(claim.metadata?.creationTimestamp)
  const remedy = SNAPSHOT_REASONS[reason]
  const state = kind === 'VolumeSnapshot' ? 'to be ready' : 'to be bound'
  return {
    reason,
    object,
    waiter: 'the claim',
    waitsFor: is === 'missing' ? `${textOf(source)}, which does not exist` : `${textOf(source)} ${state}`,
    since,
    atLeast: false,
    remedy,
    awaits: is === 'missing' ? [] : [source],
    stuck: isStuck(remedy, { since, now: facts.now, olderThanMs: facts.stuckAfterMs }),
    ...CERTAIN,
    evidence: [{ object, field: '.spec.dataSource', value: textOf(source) }],
    advice: kind === 'VolumeSnapshot' ? ROWS.restoreSource : ROWS.cloneSource,
  }
}

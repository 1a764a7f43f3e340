import type { PersistentVolumeClaim } from '@csi-sidecars/kube-types'
import type { WaitReason } from '@csi-sidecars/waits'
import { type ClusterFacts, driverOf, keyOf, objectOf, refOf, timeOf } from '../facts/facts.ts'
import { awaitedBy, type ClaimContext, claimWaits, type ObjectWait } from '../waits/index.ts'
import { usersOf } from './claim-users.ts'
import { bindingEvent, claimContext, refsOf } from './contexts.ts'
import { eventEvidence } from './events.ts'
import { type Evidence, sidecarOf, type WaitFinding } from './finding.ts'
import { doubtOf, hasNoLeader, leadershipOf, leaseEvidence, noLeaderText } from './leadership.ts'
import { modifyFinding } from './modify.ts'
import { pendingEvidence, pendingOf } from './pending.ts'
import { expandFinding, resizeEvidence, sinceOf } from './resize.ts'
import { ROWS } from './rows.ts'
import { sourceFinding } from './snapshot.ts'
import { waitingFinding } from './waiting.ts'

/** Returns findings about a claim that waits to be bound, expanded, modified or deleted. */
export function claimFindings(claim: PersistentVolumeClaim, facts: ClusterFacts): readonly WaitFinding[] {
  const context = claimContext(keyOf(refOf('PersistentVolumeClaim', claim)), { kind: 'present', object: claim }, facts)
  if (context.claim === undefined) return []
  return claimWaits(context.claim, context).flatMap((wait) => findingOf(wait, { claim, context }, facts) ?? [])
}

/** Reports whether a claim has findings. True for a claim with an unexpected shape, which the command reports later. */
export function claimHasFindings(claim: PersistentVolumeClaim, facts: ClusterFacts): boolean {
  try {
    return claimFindings(claim, facts).length > 0
  } catch {
    return true
  }
}

interface ClaimInContext {
  readonly claim: PersistentVolumeClaim
  readonly context: ClaimContext
}

function findingOf(wait: ObjectWait, { claim, context }: ClaimInContext, facts: ClusterFacts): WaitFinding | undefined {
  const pv = objectOf(facts.volumes.get(claim.spec?.volumeName ?? ''))
  const driver = claim.metadata?.annotations?.['volume.kubernetes.io/storage-resizer'] ?? (pv && driverOf(pv))
  // The driver is unknown if the volume could not be read. The finding appears nevertheless.
  const resizer = { facts, driver: driver ?? '(unknown driver)' }
  switch (wait.reason) {
    case 'Expanding':
    case 'InfeasibleSize':
      return expandFinding(claim, resizer)
    case 'Modifying':
      return modifyFinding(claim, resizer)
    default: {
      const object = refOf('PersistentVolumeClaim', claim)
      const awaits = refsOf(awaitedBy(wait, context), object.namespace)
      const finding = waitingFinding(wait, { object, awaits, ...aboutOf(wait, claim, facts) }, facts)
      if (finding === undefined || !OF_PROVISIONER.has(wait.reason)) return finding
      return sourceFinding(claim, facts) ?? provisionFinding(finding, claim, facts)
    }
  }
}

/** The wait reasons for which a provisioner has to create the volume. */
const OF_PROVISIONER: ReadonlySet<WaitReason> = new Set([
  'Binding',
  'ClaimNotBound',
  'Provisioning',
  'ProvisioningFails',
  'ClassCannotProvision',
])

/** Adds evidence about the provisioner: its Lease and its pending work. */
function provisionFinding(finding: WaitFinding, { spec }: PersistentVolumeClaim, facts: ClusterFacts): WaitFinding {
  const driver = objectOf(facts.storageClasses.get(spec?.storageClassName ?? ''))?.provisioner
  if (driver === undefined) return finding
  const leadership = leadershipOf(facts, 'external-provisioner', driver)
  const pending = pendingOf(facts, finding.object, ['provision'])
  const detailed = {
    ...finding,
    since: timeOf(pending?.since) ?? finding.since,
    stuck: finding.stuck || pending?.stuck === true,
    evidence: [...finding.evidence, ...leaseEvidence(leadership, facts), ...pendingEvidence(pending)],
  }
  if (!hasNoLeader(leadership)) return detailed
  const waiter = sidecarOf('external-provisioner', driver)
  const waitsFor = noLeaderText(leadership, facts)
  return { ...detailed, reason: 'NoLeader', waiter, waitsFor, advice: ROWS.noLeader, ...doubtOf(leadership) }
}

const NAMES_VOLUME: ReadonlySet<WaitReason> = new Set(['VolumeOfAnother', 'VolumeMismatch', 'VolumeNotThere'])

interface AboutClaim {
  readonly since: number | undefined
  readonly atLeast?: boolean
  readonly evidence: readonly Evidence[]
  readonly name?: string | undefined
  readonly driver?: string | undefined
}

function aboutOf({ reason }: ObjectWait, claim: PersistentVolumeClaim, facts: ClusterFacts): AboutClaim {
  const object = refOf('PersistentVolumeClaim', claim)
  const { metadata, spec, status } = claim
  switch (reason) {
    case 'VolumeMissing':
      return {
        since: undefined,
        evidence: [{ object, field: '.spec.volumeName', value: spec?.volumeName ?? '' }],
        name: spec?.volumeName,
      }
    case 'ClaimInUse':
    case 'ClaimDeleting':
    case 'ForeignFinalizer':
      return {
        since: timeOf(metadata?.deletionTimestamp),
        evidence: [
          { object, field: '.metadata.finalizers', value: (metadata?.finalizers ?? []).join(', ') },
          { object, field: '.metadata.deletionTimestamp', value: metadata?.deletionTimestamp ?? '' },
          ...usersOf(claim, facts).map((user) => ({ object: user, field: '.spec.volumes', value: object.name })),
        ],
      }
    case 'NoPodToGrow':
    case 'NodeResizePending':
    case 'NodeResizeFails':
    case 'NodeResizeInfeasible':
      return {
        since: sinceOf(claim, ['FileSystemResizePending', 'NodeResizeError']),
        atLeast: true,
        evidence: resizeEvidence(claim),
      }
    default: {
      const className = spec?.storageClassName ?? ''
      const storageClass = objectOf(facts.storageClasses.get(className))
      const mode = storageClass?.volumeBindingMode
      const isMode = reason === 'NoConsumer' || reason === 'ConsumerNotScheduled'
      const otherName = reason === 'StorageClassMissing' ? className : storageClass?.provisioner
      return {
        since: timeOf(metadata?.creationTimestamp),
        evidence: [
          { object, field: '.status.phase', value: status?.phase ?? '(empty)' },
          { object, field: '.spec.storageClassName', value: className === '' ? '(empty)' : className },
          ...(storageClass !== undefined && mode !== undefined && isMode
            ? [{ object: refOf('StorageClass', storageClass), field: '.volumeBindingMode', value: mode }]
            : []),
          ...eventEvidence(bindingEvent(claim, facts)),
        ],
        driver: storageClass?.provisioner,
        name: NAMES_VOLUME.has(reason) ? spec?.volumeName : otherName,
      }
    }
  }
}

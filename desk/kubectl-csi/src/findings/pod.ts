import type { Pod } from '@csi-sidecars/kube-types'
import {
  type ClusterFacts,
  claimKeysOf,
  claimNamesOf,
  isRunning,
  type KindRef,
  mayWait,
  objectOf,
  refOf,
  textOf,
  timeOf,
} from '../facts/facts.ts'
import { awaitedBy, type ClaimContext, type ObjectWait, podWait } from '../waits/index.ts'
import { claimContext, podState, refsOf, volumeNameOf } from './contexts.ts'
import { earliest, eventEvidence, lastEvent } from './events.ts'
import { causeOf } from './failure.ts'
import { foreignFinalizerFindings } from './finalizers.ts'
import { type Evidence, likely, type WaitFinding } from './finding.ts'
import { ROWS } from './rows.ts'
import { waitingFinding } from './waiting.ts'

/** Returns findings about a waiting pod. Its claims and attachments have separate findings. */
export function podFindings(pod: Pod, facts: ClusterFacts): readonly WaitFinding[] {
  if (!isRunning(pod) || claimNamesOf(pod).length === 0 || !mayWait(pod)) return []
  const finalizers = foreignFinalizerFindings(refOf('Pod', pod), pod.metadata, facts)
  if (finalizers.length > 0) return finalizers
  const found = waitsOf(pod, facts).flatMap((ofClaim) => findingOf(pod, ofClaim, facts) ?? [])
  // Several claims may cause the same finding about the whole pod, so duplicates are removed.
  const distinct = [...new Map(found.map((finding) => [finding.waitsFor, finding])).values()]
  return distinct.length > 0 ? distinct : attachEventFindings(pod, facts)
}

interface OfClaim {
  readonly wait: ObjectWait
  readonly context: ClaimContext
}

function waitsOf(pod: Pod, facts: ClusterFacts): readonly OfClaim[] {
  return claimKeysOf(pod).flatMap((key) => {
    const context = claimContext(key, facts.claims.get(key), facts)
    const wait = podWait({ ...podState(pod), phase: 'Pending' }, context)
    return wait === undefined ? [] : [{ wait, context }]
  })
}

/** Returns the objects that a pod waits for, even if no finding shows the wait. Empty for other kinds of objects. */
export function podAwaits(ref: KindRef, facts: ClusterFacts): readonly KindRef[] {
  const pod = facts.pods.find((each) => textOf(refOf('Pod', each)) === textOf(ref))
  if (pod === undefined || !isRunning(pod) || !mayWait(pod)) return []
  return waitsOf(pod, facts).flatMap(({ wait, context }) => refsOf(awaitedBy(wait, context), ref.namespace))
}

function findingOf(pod: Pod, { wait: found, context }: OfClaim, facts: ClusterFacts): WaitFinding | undefined {
  const { metadata } = pod
  // The finding of the claim already explains that the pod has no volume.
  if (found.reason === 'PodWithoutVolume' && found.on !== 'scheduler') return undefined
  const mount = found.reason === 'Mounting' ? lastEvent(metadata?.uid, facts, MOUNT_WARNINGS) : undefined
  const wait: ObjectWait =
    mount === undefined ? found : { ...found, reason: 'MountPending', message: mount.message ?? '' }
  const isAttach = ATTACHING.has(wait.reason)
  const event = mount ?? (isAttach ? lastEvent(metadata?.uid, facts, ['FailedAttachVolume']) : undefined)
  const isMissing = wait.reason === 'ClaimMissing'
  const from = isMissing ? timeOf(metadata?.creationTimestamp) : scheduledAt(pod)
  const first = timeOf(event?.firstTimestamp)
  return waitingFinding(
    wait,
    {
      object: refOf('Pod', pod),
      since: timeOf(metadata?.deletionTimestamp) ?? (mount === undefined ? earliest(first, from) : first),
      atLeast: mount !== undefined,
      awaits: refsOf(awaitedBy(wait, context), metadata?.namespace),
      name: isMissing ? context.claimKey : context.volume?.key,
      evidence: [...podEvidence(pod, wait), ...volumeEvidence(wait, { context, facts }), ...eventEvidence(event)],
    },
    facts,
  )
}

const MOUNT_WARNINGS = ['FailedMount', 'FailedMapVolume']
const ATTACHING: ReadonlySet<string> = new Set([
  'NotAskedFor',
  'MultiAttach',
  'UnmountedElsewhereFirst',
  'DetachedElsewhereFirst',
])

function podEvidence(pod: Pod, { reason }: ObjectWait): readonly Evidence[] {
  const object = refOf('Pod', pod)
  const { spec, status } = pod
  if (reason === 'ClaimMissing') {
    const value = claimNamesOf(pod).join(', ')
    return [{ object, field: '.spec.volumes[*].persistentVolumeClaim.claimName', value }]
  }
  const { nodeName = '' } = spec ?? {}
  const node = { object, field: '.spec.nodeName', value: nodeName === '' ? '(empty)' : nodeName }
  if (nodeName !== '') return [node]
  const message = status?.conditions?.find(({ type }) => type === 'PodScheduled')?.message ?? '(none)'
  return [node, { object, field: '.status.conditions[PodScheduled].message', value: message }]
}

function volumeEvidence(
  { reason }: ObjectWait,
  { context, facts }: { context: ClaimContext; facts: ClusterFacts },
): readonly Evidence[] {
  const pv = objectOf(facts.volumes.get(context.volume?.key ?? ''))
  if (pv === undefined || !ATTACHING.has(reason) || reason === 'NotAskedFor') return []
  const modes = pv.spec?.accessModes?.join(', ') ?? ''
  const attachments = facts.attachments.filter((va) => volumeNameOf(va) === pv.metadata?.name)
  return [
    { object: refOf('PersistentVolume', pv), field: '.spec.accessModes', value: modes },
    ...attachments.flatMap((va) => {
      const object = refOf('VolumeAttachment', va)
      return [
        { object, field: '.spec.nodeName', value: va.spec?.nodeName ?? '' },
        { object, field: '.status.attached', value: String(va.status?.attached ?? false) },
      ]
    }),
  ]
}

/** Returns a finding from FailedAttachVolume events, for users who may not read VolumeAttachments. */
function attachEventFindings(pod: Pod, facts: ClusterFacts): readonly WaitFinding[] {
  const event = lastEvent(pod.metadata?.uid, facts, ['FailedAttachVolume'])
  const unseen = facts.unseen.some(({ what }) => what.startsWith('volumeattachments'))
  if (event === undefined || !unseen) return []
  const message = event.message ?? ''
  const context = { sidecar: 'external-attacher', driver: '(unknown driver)', node: pod.spec?.nodeName } as const
  const failureCause = causeOf(message, context) ?? {
    reason: 'AttachFails',
    waitsFor: `what it has failed for: ${message}`,
    advice: ROWS.driverRefuses,
  }
  return [
    {
      ...failureCause,
      object: refOf('Pod', pod),
      waiter: 'the attach/detach controller',
      since: timeOf(event.firstTimestamp),
      atLeast: true,
      stuck: true,
      ...likely('it is the last event, and VolumeAttachments may not be read'),
      evidence: eventEvidence(event),
    },
  ]
}

function scheduledAt({ metadata, status }: Pod): number | undefined {
  const condition = status?.conditions?.find(({ type }) => type === 'PodScheduled')
  return timeOf(condition?.lastTransitionTime) ?? timeOf(metadata?.creationTimestamp)
}

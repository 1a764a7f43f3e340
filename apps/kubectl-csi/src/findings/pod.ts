import type { PersistentVolume, Pod, VolumeAttachment } from '@csi-sidecars/kube-types'
import { claimNamesOf, driverOf, type Facts, isRunning, keyOf, objectOf, refOf, timeOf } from '../facts/facts.ts'
import { volumeNameOf } from './attachment.ts'
import { earliest, eventEvidence, lastEvent } from './claim-work.ts'
import { causeOf } from './failure.ts'
import { CERTAIN, type Finding, likely } from './finding.ts'
import { ROWS } from './rows.ts'

const CONTROLLER = 'the attach/detach controller'

/** What a pod waits for beside its claims and attachments, which have findings of their own. */
export function podFindings(pod: Pod, facts: Facts): readonly Finding[] {
  if (!isRunning(pod) || claimNamesOf(pod).length === 0) return []
  const missing = claimKeysOf(pod).filter((key) => facts.claims.get(key).is === 'absent')
  if (missing.length > 0) return missing.map((key) => claimMissing(pod, key))
  const { nodeName = '' } = pod.spec ?? {}
  if (nodeName === '') return [notScheduled(pod, facts)]
  if (isReady(pod)) return []
  const found = volumesOf(pod, facts).flatMap((pv) => volumeOfPodFindings(pod, pv, facts))
  return found.length > 0 ? found : [...attachEventFindings(pod, facts), ...mountFindings(pod, facts)]
}

function claimKeysOf(pod: Pod): readonly string[] {
  return claimNamesOf(pod).map((name) => keyOf({ namespace: pod.metadata?.namespace, name }))
}

/** The volumes of a pod's claims that could be seen. */
function volumesOf(pod: Pod, { claims, volumes }: Facts): readonly PersistentVolume[] {
  return claimKeysOf(pod).flatMap(
    (key) => objectOf(volumes.get(objectOf(claims.get(key))?.spec?.volumeName ?? '')) ?? [],
  )
}

function claimMissing(pod: Pod, key: string): Finding {
  const object = refOf('Pod', pod)
  return {
    reason: 'ClaimMissing',
    object,
    waiter: 'the pod',
    waitsFor: `PersistentVolumeClaim ${key}, which does not exist`,
    since: timeOf(pod.metadata?.creationTimestamp),
    atLeast: false,
    stuck: true,
    ...CERTAIN,
    evidence: [
      { object, field: '.spec.volumes[*].persistentVolumeClaim.claimName', value: claimNamesOf(pod).join(', ') },
    ],
    advice: ROWS.claimNotBound,
  }
}

function volumeOfPodFindings(pod: Pod, pv: PersistentVolume, facts: Facts): readonly Finding[] {
  const { nodeName = '' } = pod.spec ?? {}
  const name = pv.metadata?.name ?? ''
  const driver = driverOf(pv)
  const attachments = facts.attachments.filter((va) => volumeNameOf(va) === name)
  if (driver === undefined || attachments.some(({ spec }) => spec?.nodeName === nodeName)) return []
  // Such a driver has no attachments.
  if (objectOf(facts.drivers.get(driver))?.spec.attachRequired === false) return []
  const many = pv.spec?.accessModes?.some((mode) => mode === 'ReadWriteMany' || mode === 'ReadOnlyMany') === true
  return [many || attachments.length === 0 ? notAskedFor(pod, pv, facts) : multiAttach(pod, pv, { facts, attachments })]
}

interface Elsewhere {
  readonly facts: Facts
  readonly attachments: readonly VolumeAttachment[]
}

function multiAttach(pod: Pod, pv: PersistentVolume, { facts, attachments }: Elsewhere): Finding {
  const name = pv.metadata?.name ?? ''
  const nodes = attachments.map(({ spec }) => spec?.nodeName).join(', ')
  const event = lastEvent(pod.metadata?.uid, facts, ['FailedAttachVolume'])
  return {
    reason: 'MultiAttach',
    object: refOf('Pod', pod),
    waiter: CONTROLLER,
    waitsFor: `volume ${name} to be detached from node ${nodes}: it can be attached to one node only`,
    since: earliest(timeOf(event?.firstTimestamp), scheduledAt(pod)),
    atLeast: false,
    stuck: true,
    ...CERTAIN,
    evidence: [
      { object: refOf('Pod', pod), field: '.spec.nodeName', value: pod.spec?.nodeName ?? '' },
      {
        object: refOf('PersistentVolume', pv),
        field: '.spec.accessModes',
        value: pv.spec?.accessModes?.join(', ') ?? '',
      },
      ...attachments.flatMap((va) => [
        { object: refOf('VolumeAttachment', va), field: '.spec.nodeName', value: va.spec?.nodeName ?? '' },
        {
          object: refOf('VolumeAttachment', va),
          field: '.status.attached',
          value: String(va.status?.attached ?? false),
        },
      ]),
      ...eventEvidence(event),
    ],
    advice: ROWS.multiAttach,
  }
}

function notAskedFor(pod: Pod, pv: PersistentVolume, facts: Facts): Finding {
  const since = scheduledAt(pod)
  return {
    reason: 'NotAskedFor',
    object: refOf('Pod', pod),
    waiter: 'the kubelet',
    waitsFor: `${CONTROLLER} to ask for volume ${pv.metadata?.name} on node ${pod.spec?.nodeName}`,
    since,
    atLeast: false,
    stuck: since === undefined || facts.now - since >= facts.stuckAfterMs,
    ...likely('there is no VolumeAttachment for that volume and node'),
    evidence: [
      { object: refOf('Pod', pod), field: '.spec.nodeName', value: pod.spec?.nodeName ?? '' },
      ...eventEvidence(lastEvent(pod.metadata?.uid, facts, ['FailedAttachVolume'])),
    ],
    advice: ROWS.notAskedFor,
  }
}

function notScheduled(pod: Pod, facts: Facts): Finding {
  const condition = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled')
  const since = timeOf(condition?.lastTransitionTime) ?? timeOf(pod.metadata?.creationTimestamp)
  const object = refOf('Pod', pod)
  return {
    reason: 'NotScheduled',
    object,
    waiter: 'the pod',
    waitsFor: 'the scheduler to choose a node',
    since,
    atLeast: false,
    stuck: since === undefined || facts.now - since >= facts.stuckAfterMs,
    ...CERTAIN,
    evidence: [
      { object, field: '.spec.nodeName', value: '(empty)' },
      { object, field: '.status.conditions[PodScheduled].message', value: condition?.message ?? '(none)' },
    ],
    advice: ROWS.notScheduled,
  }
}

/** Who may not read attachments still sees what the attach/detach controller says about the pod. */
function attachEventFindings(pod: Pod, facts: Facts): readonly Finding[] {
  const event = lastEvent(pod.metadata?.uid, facts, ['FailedAttachVolume'])
  const unseen = facts.unseen.some(({ what }) => what.startsWith('volumeattachments'))
  if (event === undefined || !unseen) return []
  const message = event.message ?? ''
  const context = { sidecar: 'external-attacher', driver: '(unknown driver)', node: pod.spec?.nodeName } as const
  const cause = causeOf(message, context) ?? {
    reason: 'AttachFails',
    waitsFor: `what it has failed for: ${message}`,
    advice: ROWS.driverRefuses,
  }
  return [
    {
      ...cause,
      object: refOf('Pod', pod),
      waiter: CONTROLLER,
      since: timeOf(event.firstTimestamp),
      atLeast: true,
      stuck: true,
      ...likely('it is the last event, and VolumeAttachments may not be read'),
      evidence: eventEvidence(event),
    },
  ]
}

/** Volumes are there, as far as these sidecars go; the kubelet says that it cannot mount one. */
function mountFindings(pod: Pod, facts: Facts): readonly Finding[] {
  const event = lastEvent(pod.metadata?.uid, facts, ['FailedMount', 'FailedMapVolume'])
  const attached = volumesOf(pod, facts).every((pv) =>
    facts.attachments.every(
      (va) =>
        volumeNameOf(va) !== pv.metadata?.name ||
        va.spec?.nodeName !== pod.spec?.nodeName ||
        va.status?.attached === true,
    ),
  )
  if (event === undefined || !attached) return []
  return [
    {
      reason: 'MountPending',
      object: refOf('Pod', pod),
      waiter: 'the kubelet',
      waitsFor: `what it has failed for on node ${pod.spec?.nodeName}: ${event.message}`,
      since: timeOf(event.firstTimestamp),
      atLeast: true,
      stuck: true,
      ...likely('it is what the last try has ended with'),
      evidence: eventEvidence(event),
      advice: ROWS.mountPending,
    },
  ]
}

function isReady({ status }: Pod): boolean {
  return status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') === true
}

function scheduledAt({ metadata, status }: Pod): number | undefined {
  const condition = status?.conditions?.find(({ type }) => type === 'PodScheduled')
  return timeOf(condition?.lastTransitionTime) ?? timeOf(metadata?.creationTimestamp)
}

import type { Event, PersistentVolume, PersistentVolumeClaim, Pod, VolumeAttachment } from '@csi-sidecars/kube-types'
import { type ClusterFacts, driverOf, type KindRef, keyOf, objectOf, type ReadResult, refOf } from '../facts/facts.ts'
import type {
  Awaited,
  ClaimClass,
  ClaimContext,
  NodeState,
  PodState,
  VolumeState,
  WaitingAttachment,
  WaitingClaim,
} from '../waits/index.ts'
import { podsOf } from './claim-users.ts'
import { lastEvent } from './events.ts'

/** Returns a claim and the objects around it as input of `@csi-sidecars/waits`. Unread objects are undefined. */
export function claimContext(key: string, seen: ReadResult<PersistentVolumeClaim>, facts: ClusterFacts): ClaimContext {
  const claim = objectOf(seen)
  const volume = facts.volumes.get(claim?.spec?.volumeName ?? '')
  const users = podsOf(key, facts)
  return {
    ...volumeContext(volume, facts),
    claimKey: seen.kind === 'unseen' ? undefined : key,
    claim: claim && claimState(claim),
    volumeGone: (claim?.spec?.volumeName ?? '') !== '' && volume.kind === 'absent',
    pods: users.map(podState),
    binding: claim && bindingOf(claim, facts),
    storageClass: claim && classOf(claim, facts),
    warning: (pod, ...reasons) => warningOf(users, pod, { reasons, facts }),
    failing: (_, ...methods) => (methods.includes('NodeExpandVolume') ? nodeError(claim) : undefined),
  }
}

export function volumeContext(seen: ReadResult<PersistentVolume>, facts: ClusterFacts): ClaimContext {
  const pv = objectOf(seen)
  const driver = pv && driverOf(pv)
  const attachments = facts.attachments.filter((va) => pv !== undefined && volumeNameOf(va) === pv.metadata?.name)
  return {
    claimKey: undefined,
    claim: undefined,
    volume: pv && volumeState(pv),
    attachments: attachments.map(attachmentState),
    pods: [],
    attaches: driver !== undefined && objectOf(facts.drivers.get(driver))?.spec.attachRequired !== false,
    nameOnNodes: pv && nameOnNodes(pv),
    // The CSINode is deleted after its Node, so a node counts as gone only if both are missing.
    nodeGone: (name) => facts.nodes.get(name).kind === 'absent' && facts.csiNodes.get(name).kind === 'absent',
    node: (name) => nodeState(name, facts),
    // The API objects do not show errors of driver calls. Only sidecars and events report these errors.
    failing: () => undefined,
    warning: () => undefined,
  }
}

/** Returns references to awaited objects. `namespace` is the namespace of the pods and claims among them. */
export function refsOf(awaited: readonly Awaited[], namespace: string | undefined): readonly KindRef[] {
  return awaited.map(({ kind, name }) =>
    kind === 'attachment'
      ? { kind: 'VolumeAttachment', name }
      : { kind: kind === 'pod' ? 'Pod' : 'PersistentVolumeClaim', namespace, name },
  )
}

/** Returns the name of a CSI volume in the status of nodes. Undefined for a migrated in-tree volume. */
function nameOnNodes({ spec }: PersistentVolume): string | undefined {
  return spec?.csi && `kubernetes.io/csi/${spec.csi.driver}^${spec.csi.volumeHandle}`
}

/** Returns the name of the PersistentVolume of an attachment. Undefined for an inline volume. */
export function volumeNameOf({ spec }: VolumeAttachment): string | undefined {
  return spec?.source?.persistentVolumeName
}

function claimState({ metadata, spec, status }: PersistentVolumeClaim): WaitingClaim {
  const word = status?.allocatedResourceStatuses?.['storage']
  const grows = status?.conditions?.some(({ type, status: value }) => type === GROWS && value === 'True') === true
  const capacity = status?.capacity?.['storage']
  return {
    name: metadata?.name ?? '',
    deleting: metadata?.deletionTimestamp !== undefined,
    finalizers: metadata?.finalizers ?? [],
    phase: status?.phase ?? '',
    className: metadata?.annotations?.['volume.beta.kubernetes.io/storage-class'] ?? spec?.storageClassName,
    volumeName: spec?.volumeName ?? '',
    request: (capacity && spec?.resources?.requests?.['storage']) ?? '0',
    capacity,
    resizeStatus: word ?? (grows ? 'NodeResizePending' : undefined),
    attributesClass: spec?.volumeAttributesClassName ?? '',
    currentAttributesClass: status?.currentVolumeAttributesClassName,
    modifyStatus: status?.modifyVolumeStatus?.status,
  }
}

function nodeError(claim: PersistentVolumeClaim | undefined): string | undefined {
  const condition = claim?.status?.conditions?.find(
    ({ type, status }) => type === 'NodeResizeError' && status === 'True',
  )
  return condition && (condition.message ?? '')
}

const GROWS = 'FileSystemResizePending'

export function podState(pod: Pod): PodState {
  const { metadata, spec, status } = pod
  return {
    key: keyOf(refOf('Pod', pod)),
    name: metadata?.name ?? '',
    nodeName: spec?.nodeName ?? '',
    deleting: metadata?.deletionTimestamp !== undefined,
    phase: status?.phase ?? 'Pending',
  }
}

function volumeState({ metadata, spec, status }: PersistentVolume): VolumeState {
  return {
    key: metadata?.name ?? '',
    deleting: metadata?.deletionTimestamp !== undefined,
    finalizers: metadata?.finalizers ?? [],
    phase: status?.phase ?? '',
    accessModes: spec?.accessModes ?? [],
    reclaimPolicy: spec?.persistentVolumeReclaimPolicy ?? '',
  }
}

function attachmentState({ metadata, spec, status }: VolumeAttachment): WaitingAttachment {
  return {
    key: metadata?.name ?? '',
    nodeName: spec?.nodeName ?? '',
    deleting: metadata?.deletionTimestamp !== undefined,
    attached: status?.attached === true,
    attachError: status?.attachError?.message,
    detachError: status?.detachError?.message,
  }
}

function nodeState(name: string, { nodes }: ClusterFacts): NodeState | undefined {
  const node = objectOf(nodes.get(name))
  if (node === undefined) return undefined
  const { conditions = [], volumesAttached = [], volumesInUse = [] } = node.status ?? {}
  const ready = conditions.find(({ type }) => type === 'Ready')
  return { ready: ready === undefined || ready.status === 'True', volumesAttached, volumesInUse }
}

const BINDING = [
  'FailedBinding',
  'WaitForFirstConsumer',
  'WaitForPodScheduled',
  'ExternalProvisioning',
  'Provisioning',
  'ProvisioningFailed',
  'VolumeMismatch',
] as const

/** Returns the last event of the PV controller or the provisioner about a claim. */
export function bindingEvent({ metadata }: PersistentVolumeClaim, facts: ClusterFacts): Event | undefined {
  const last = lastEvent(metadata?.uid, facts, BINDING)
  // The event about a new attempt hides the event about the last failure, which explains more.
  const isTrying = last?.reason === 'Provisioning' || last?.reason === 'ExternalProvisioning'
  return (isTrying ? lastEvent(metadata?.uid, facts, ['ProvisioningFailed']) : undefined) ?? last
}

function bindingOf(claim: PersistentVolumeClaim, facts: ClusterFacts): ClaimContext['binding'] {
  const event = bindingEvent(claim, facts)
  return event && { reason: event.reason ?? '', message: event.message ?? '' }
}

const DEFAULT_CLASS = [
  'storageclass.kubernetes.io/is-default-class',
  'storageclass.beta.kubernetes.io/is-default-class',
]
const SELECTED_NODE = 'volume.kubernetes.io/selected-node'

function classOf(claim: PersistentVolumeClaim, { storageClasses }: ClusterFacts): ClaimClass | undefined {
  const { className } = claimState(claim)
  if (className === undefined) {
    const isDefault = storageClasses.present.some(({ metadata }) =>
      DEFAULT_CLASS.some((name) => metadata?.annotations?.[name] === 'true'),
    )
    return storageClasses.complete ? { kind: 'none', hasDefault: isDefault } : undefined
  }
  // An empty class name means that an administrator creates the volume by hand.
  if (className === '') return undefined
  const seen = storageClasses.get(className)
  if (seen.kind === 'absent') return { kind: 'missing' }
  const isChosen = claim.metadata?.annotations?.[SELECTED_NODE] !== undefined
  const mode = objectOf(seen)?.volumeBindingMode
  return mode === undefined ? undefined : { kind: 'present', waitsForPod: mode === 'WaitForFirstConsumer' && !isChosen }
}

function warningOf(
  users: readonly Pod[],
  key: string,
  { reasons, facts }: { readonly reasons: readonly string[]; readonly facts: ClusterFacts },
): string | undefined {
  const pod = users.find((each) => keyOf(refOf('Pod', each)) === key)
  return lastEvent(pod?.metadata?.uid, facts, reasons)?.message
}

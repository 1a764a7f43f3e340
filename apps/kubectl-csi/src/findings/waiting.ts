import { isStuck, REASONS, type Reason, remedyOf, type Wait } from '@csi-sidecars/waits'
import type { Facts, Ref } from '../facts/facts.ts'
import { causeOf, type FailureCause } from './failure.ts'
import { CERTAIN, type Evidence, type Finding, likely, type RowKey } from './finding.ts'
import { ROWS } from './rows.ts'

/** Beside a wait: what only the objects of the API know. */
export interface WaitingObject {
  readonly object: Ref
  readonly since: number | undefined
  readonly atLeast?: boolean
  readonly evidence: readonly Evidence[]
  /** The provisioner of the class, or the name of an object that is missing. */
  readonly name?: string | undefined
  /** Of the volume, or of the class. */
  readonly driver?: string | undefined
  readonly unseen: Facts['unseen']
}

interface Words extends Wait {
  readonly object: Ref
  readonly list: string
  readonly missing: string
}

interface Text {
  /** The word for programs, where it is another one than the reason. */
  readonly reason?: string
  readonly waiter: string
  readonly waitsFor: (words: Words) => string
  readonly advice: RowKey
  /** What makes it less than certain. */
  readonly doubt?: (words: Words, unseen: Facts['unseen']) => string | undefined
}

/** The wait as a finding, with the text of this command. Undefined for what another finding of the object says. */
export function waitingFinding(wait: Wait, given: WaitingObject, facts: Facts): Finding | undefined {
  const text = TEXTS[wait.reason]
  if (text === undefined) return undefined
  const { object, since, atLeast = false, evidence, name = '', driver, unseen } = given
  const words = { ...wait, object, list: (wait.names ?? []).join(', '), missing: name }
  const doubt = text.doubt?.(words, unseen)
  const said = FAILS.has(wait.reason) ? provisionerCause(wait.message, driver) : undefined
  const { remedy } = REASONS[wait.reason]
  return {
    reason: text.reason ?? wait.reason,
    waitsFor: text.waitsFor(words),
    ...said,
    advice: said?.advice === ROWS.apiRefuses ? said.advice : text.advice,
    object,
    waiter: text.waiter.replace('OBJECT', `${object.kind} ${object.name}`),
    since,
    atLeast,
    stuck: isStuck(remedyOf(wait.reason, remedy), { since, now: facts.now, olderThanMs: facts.stuckAfterMs }),
    ...(doubt === undefined ? CERTAIN : likely(doubt)),
    evidence,
  }
}

/** What another program refuses says more than that it is refused. */
const FAILS: ReadonlySet<Reason> = new Set([
  'ProvisioningFails',
  'ClassCannotProvision',
  'DeleteFails',
  'DeleteFails',
  'DeletionFailed',
])

function provisionerCause(message = '', driver = 'of the class'): FailureCause | undefined {
  return causeOf(message, { sidecar: 'external-provisioner', driver })
}

const CLAIM = 'the claim'
const POD = 'the pod'
const DELETION = 'the deletion of OBJECT'
const KUBELET = 'the kubelet'
const ATTACH_DETACH = 'the attach/detach controller'
const lastTry = () => 'it is what the last try has ended with'
const after = ({ message }: Words): string => (message === undefined ? '' : `: ${message}`)

const TEXTS: Readonly<Partial<Record<Reason, Text>>> = {
  VolumeMissing: {
    waiter: CLAIM,
    waitsFor: ({ missing }) => `PersistentVolume ${missing}, which does not exist`,
    advice: ROWS.volumeMissing,
  },
  NoClass: {
    waiter: CLAIM,
    waitsFor: () => 'a StorageClass: it names none, no class is the default, and no volume without a class fits',
    advice: ROWS.noClass,
  },
  StorageClassMissing: {
    waiter: CLAIM,
    waitsFor: ({ missing }) => `StorageClass ${missing}, which does not exist`,
    advice: ROWS.claimNotBound,
  },
  NoConsumer: {
    waiter: CLAIM,
    waitsFor: () => 'a pod that uses it, as its StorageClass asks',
    advice: ROWS.claimNotBound,
    doubt: (_, unseen) => (unseen.some(({ what }) => what === 'pods') ? 'pods could not be read' : undefined),
  },
  ConsumerNotScheduled: {
    waiter: CLAIM,
    waitsFor: ({ names, object }) =>
      `the scheduler to choose a node for ${(names ?? []).map((name) => `Pod ${object.namespace}/${name}`).join(', ') || 'its pod'}`,
    advice: ROWS.claimNotBound,
  },
  VolumeOfAnother: {
    waiter: CLAIM,
    waitsFor: ({ missing }) => `PersistentVolume ${missing}, which belongs to another claim`,
    advice: ROWS.volumeOfAnother,
  },
  VolumeMismatch: {
    waiter: CLAIM,
    waitsFor: ({ missing, ...words }) =>
      `PersistentVolume ${missing}, which does not fit${after({ missing, ...words })}`,
    advice: ROWS.volumeOfAnother,
  },
  VolumeNotThere: {
    waiter: CLAIM,
    waitsFor: ({ missing }) => `PersistentVolume ${missing}, which does not exist`,
    advice: ROWS.volumeOfAnother,
  },
  Binding: { reason: 'ClaimNotBound', ...notBound() },
  ClaimNotBound: notBound(),
  Provisioning: {
    waiter: CLAIM,
    waitsFor: ({ missing }) => `provisioner ${missing} to create a volume`,
    advice: ROWS.claimNotBound,
    doubt: () => 'its last event says so, and a provisioner that does not run looks the same',
  },
  ProvisioningFails: provisioning(),
  ClassCannotProvision: { reason: 'ProvisioningFails', ...provisioning() },
  ClaimMissing: {
    waiter: POD,
    waitsFor: ({ missing }) => `PersistentVolumeClaim ${missing}, which does not exist`,
    advice: ROWS.claimNotBound,
  },
  NotScheduled: { waiter: POD, waitsFor: () => 'the scheduler to choose a node', advice: ROWS.notScheduled },
  NoNodeFits: {
    reason: 'NotScheduled',
    waiter: POD,
    waitsFor: ({ message = '' }) =>
      `the scheduler to choose a node${NO_NODE.find(([words]) => words.test(message))?.[1] ?? ''}`,
    advice: ROWS.notScheduled,
  },
  PodWithoutVolume: {
    reason: 'NotScheduled',
    waiter: POD,
    waitsFor: () => 'the scheduler to choose a node, once its claim has a volume',
    advice: ROWS.notScheduled,
  },
  NotAskedFor: {
    waiter: KUBELET,
    waitsFor: ({ missing, node }) => `${ATTACH_DETACH} to ask for volume ${missing} on node ${node}`,
    advice: ROWS.notAskedFor,
    doubt: () => 'there is no VolumeAttachment for that volume and node',
  },
  MultiAttach: {
    waiter: ATTACH_DETACH,
    waitsFor: ({ missing, node, list }) =>
      `volume ${missing} to be detached from node ${node}${list === '' ? '' : `, where ${list} uses it`}: it can be attached to one node only`,
    advice: ROWS.multiAttach,
  },
  UnmountedElsewhereFirst: {
    reason: 'MultiAttach',
    waiter: ATTACH_DETACH,
    waitsFor: ({ missing, node, list }) =>
      `volume ${missing} to be detached from node ${node}${list === '' ? '' : `, where ${list} ends`}: it can be attached to one node only`,
    advice: ROWS.multiAttach,
  },
  DetachedElsewhereFirst: {
    reason: 'MultiAttach',
    waiter: ATTACH_DETACH,
    waitsFor: ({ missing, node }) =>
      `volume ${missing} to be detached from node ${node}: it can be attached to one node only`,
    advice: ROWS.multiAttach,
  },
  NotReported: {
    waiter: KUBELET,
    waitsFor: ({ missing, node }) =>
      `${ATTACH_DETACH} to report volume ${missing} as attached in the status of node ${node}`,
    advice: ROWS.notAskedFor,
  },
  NodeGone: {
    waiter: POD,
    waitsFor: ({ node, list }) =>
      list === ''
        ? `node ${node}, which does not exist`
        : `${list} to be deleted by force: its node ${node} does not exist`,
    advice: ROWS.nodeGone,
  },
  NodeNotReady: {
    waiter: POD,
    waitsFor: ({ node, list }) =>
      list === ''
        ? `node ${node} to be ready: its kubelet does not answer`
        : `${list} to end on node ${node}, whose kubelet does not answer`,
    advice: ROWS.nodeGone,
  },
  MountPending: {
    waiter: KUBELET,
    waitsFor: ({ node, message }) => `what it has failed for on node ${node}: ${message}`,
    advice: ROWS.mountPending,
    doubt: lastTry,
  },
  NoPodToGrow: {
    reason: 'NodeResizePending',
    waiter: 'the file system of the claim',
    waitsFor: () => 'a pod that uses the claim, where the kubelet can make it grow',
    advice: ROWS.nodeResizePending,
  },
  NodeResizePending: {
    waiter: 'the file system of the claim',
    waitsFor: ({ names, object }) =>
      `the kubelet to make it grow, where ${(names ?? []).map((name) => `${object.namespace}/${name}`).join(', ')} runs`,
    advice: ROWS.nodeResizePending,
  },
  NodeResizeFails: nodeResizeFails(),
  NodeResizeInfeasible: { reason: 'NodeResizeFails', ...nodeResizeFails() },
  PodEnding: {
    waiter: DELETION,
    waitsFor: ({ node }) =>
      node === '' ? 'its finalizers' : `the kubelet of node ${node} to end it and to unmount its volumes`,
    advice: ROWS.podEnding,
  },
  ClaimInUse: {
    waiter: 'its deletion',
    waitsFor: ({ names, object }) => `${(names ?? []).map((name) => `${object.namespace}/${name}`).join(', ')} to end`,
    advice: ROWS.foreignFinalizer,
  },
  ClaimDeleting: {
    reason: 'ClaimInUse',
    waiter: 'its deletion',
    waitsFor: () => 'the pods that use it to end',
    advice: ROWS.foreignFinalizer,
    doubt: () => 'no pod that uses it could be seen',
  },
  ForeignFinalizer: {
    waiter: DELETION,
    waitsFor: ({ list }) => `the owner of finalizer ${list} to remove it`,
    advice: ROWS.foreignFinalizer,
  },
  VolumeBound: {
    waiter: DELETION,
    waitsFor: ({ missing }) => `PersistentVolumeClaim ${missing}, which is bound to it, to be deleted`,
    advice: ROWS.foreignFinalizer,
  },
  VolumeStillAttached: {
    waiter: DELETION,
    waitsFor: ({ names = [], list }) =>
      names.length === 0
        ? 'the attacher to remove its finalizer'
        : `${names.length === 1 ? 'VolumeAttachment' : 'VolumeAttachments'} ${list} to be deleted`,
    advice: ROWS.volumeStillAttached,
    doubt: ({ names = [] }) => (names.length === 0 ? 'no VolumeAttachment that names it could be seen' : undefined),
  },
  DeleteFails: { reason: 'DeletionFailed', ...deletionFails() },
  DeletionFailed: deletionFails(),
  VolumeDeleting: {
    waiter: DELETION,
    waitsFor: () => 'its provisioner to delete it: its claim is gone',
    advice: ROWS.deleteFails,
  },
}

/** What the scheduler's message says about volumes and nodes, after `to choose a node`. */
const NO_NODE: readonly (readonly [RegExp, string])[] = [
  [/max volume count/, ': the nodes have as many volumes as their CSINodes allow'],
  [/volume node affinity conflict/, ': its volume is reachable from none that is left'],
  [/untolerated taint/, ': the nodes have taints that it does not tolerate'],
  [/did not have enough free storage|not enough free storage/, ': no node has enough free storage'],
]

function notBound(): Text {
  return {
    waiter: CLAIM,
    waitsFor: ({ missing }) => `a volume, from ${missing || 'its provisioner'} or by hand`,
    advice: ROWS.claimNotBound,
    doubt: () => 'binding is not the work of these sidecars; the events of the claim say more',
  }
}

function provisioning(): Text {
  return {
    waiter: CLAIM,
    waitsFor: ({ missing, message }) => `provisioner ${missing} to do what it has failed for: ${message}`,
    advice: ROWS.provisioningFails,
    doubt: lastTry,
  }
}

function deletionFails(): Text {
  return {
    waiter: DELETION,
    waitsFor: (words) => `what the last try has failed for${after(words)}`,
    advice: ROWS.deleteFails,
    doubt: lastTry,
  }
}

function nodeResizeFails(): Text {
  return {
    waiter: 'the file system of the claim',
    waitsFor: ({ names, object }) =>
      names === undefined
        ? 'a pod that uses the claim, where the kubelet can make it grow'
        : `the kubelet to make it grow, where ${names.map((name) => `${object.namespace}/${name}`).join(', ')} runs`,
    advice: ROWS.nodeResizeFailed,
  }
}

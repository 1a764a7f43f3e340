import { isStuck, remedyOf, WAIT_REASONS, type WaitReason } from '@csi-sidecars/waits'
import type { ClusterFacts, KindRef } from '../facts/facts.ts'
import type { ObjectWait } from '../waits/index.ts'
import { causeOf, type FailureCause } from './failure.ts'
import { CERTAIN, type Evidence, likely, type RowKey, type WaitFinding } from './finding.ts'
import { ROWS } from './rows.ts'

/** The parts of a finding that the API objects supply. */
export interface WaitingObject {
  readonly object: KindRef
  readonly since: number | undefined
  readonly atLeast?: boolean
  readonly evidence: readonly Evidence[]
  /** The provisioner of the class, or the name of a missing object. */
  readonly name?: string | undefined
  /** The driver of the volume or of the class. */
  readonly driver?: string | undefined
  readonly awaits?: readonly KindRef[]
}

interface TextInput extends ObjectWait {
  readonly list: string
  /** The pods in the text of the wait, as `namespace/name`. */
  readonly pods: readonly string[]
  readonly missing: string
}

interface Text {
  readonly waiter: string
  readonly waitsFor: string | ((input: TextInput) => string)
  readonly advice: RowKey
}

/** Converts a wait to a finding with its text. Undefined if another finding of the object already covers the wait. */
export function waitingFinding(wait: ObjectWait, waiting: WaitingObject, facts: ClusterFacts): WaitFinding | undefined {
  const { reason, names = [], message } = wait
  const text = TEXTS[reason]
  if (text === undefined) return undefined
  const { object, since, atLeast = false, evidence, name = '', driver, awaits = [] } = waiting
  const pods = names.map((each) => `${object.namespace}/${each}`)
  const input = { ...wait, list: names.join(', '), pods, missing: name }
  const doubtful = DOUBTS[reason]
  const doubt = typeof doubtful === 'function' ? doubtful(input, facts.unseen) : doubtful
  const reported = FAILS.has(reason) ? provisionerCause(message, driver) : undefined
  const remedy = remedyOf(reason, WAIT_REASONS[reason].remedy)
  return {
    reason: SAID_AS[reason] ?? reason,
    waitsFor: typeof text.waitsFor === 'string' ? text.waitsFor : text.waitsFor(input),
    ...reported,
    advice: reported?.advice === ROWS.apiRefuses ? reported.advice : text.advice,
    object,
    waiter: text.waiter.replace('OBJECT', `${object.kind} ${object.name}`),
    since,
    atLeast,
    remedy,
    awaits,
    stuck: isStuck(remedy, { since, now: facts.now, olderThanMs: facts.stuckAfterMs }),
    ...(doubt === undefined ? CERTAIN : likely(doubt)),
    evidence,
  }
}

/** The wait reasons whose error messages may name a more exact cause. */
const FAILS: ReadonlySet<WaitReason> = new Set([
  'ProvisioningFails',
  'ClassCannotProvision',
  'DeleteFails',
  'DeletionFailed',
])

function provisionerCause(message = '', driver = 'of the class'): FailureCause | undefined {
  return causeOf(message, { sidecar: 'external-provisioner', driver })
}

type ByReason<T> = Readonly<Partial<Record<WaitReason, T>>>

/** The reason to print in JSON output, for each wait whose reason has another name there. */
const SAID_AS: ByReason<WaitReason> = {
  Binding: 'ClaimNotBound',
  ClassCannotProvision: 'ProvisioningFails',
  NoNodeFits: 'NotScheduled',
  PodWithoutVolume: 'NotScheduled',
  UnmountedElsewhereFirst: 'MultiAttach',
  DetachedElsewhereFirst: 'MultiAttach',
  NoPodToGrow: 'NodeResizePending',
  NodeResizeInfeasible: 'NodeResizeFails',
  ClaimDeleting: 'ClaimInUse',
  DeleteFails: 'DeletionFailed',
}

const LAST_TRY = 'it is what the last try has ended with'
const NOT_OURS = 'binding is not the work of these sidecars; the events of the claim say more'

/** The reasons why a finding is not certain. */
const DOUBTS: ByReason<string | ((input: TextInput, unseen: ClusterFacts['unseen']) => string | undefined)> = {
  NoConsumer: (_, unseen) => (unseen.some(({ what }) => what === 'pods') ? 'pods could not be read' : undefined),
  Binding: NOT_OURS,
  ClaimNotBound: NOT_OURS,
  Provisioning: 'its last event says so, and a provisioner that does not run looks the same',
  ProvisioningFails: LAST_TRY,
  ClassCannotProvision: LAST_TRY,
  NotAskedFor: 'there is no VolumeAttachment for that volume and node',
  MountPending: LAST_TRY,
  ClaimDeleting: 'no pod that uses it could be seen',
  VolumeStillAttached: ({ list }) => (list === '' ? 'no VolumeAttachment that names it could be seen' : undefined),
  DeleteFails: LAST_TRY,
  DeletionFailed: LAST_TRY,
}

const CLAIM = 'the claim'
const POD = 'the pod'
const DELETION = 'the deletion of OBJECT'
const KUBELET = 'the kubelet'
const ATTACH_DETACH = 'the attach/detach controller'
const FILE_SYSTEM = 'the file system of the claim'

/** Returns the texts for several wait reasons with the same waiter and the same advice. */
function texts(waiter: string, advice: RowKey, waitsFor: ByReason<Text['waitsFor']>): ByReason<Text> {
  return Object.fromEntries(
    Object.entries(waitsFor).map(([reason, text]) => [reason, { waiter, advice, waitsFor: text }]),
  )
}

const after = ({ message }: TextInput): string => (message === undefined ? '' : `: ${message}`)
const noVolume = ({ missing }: TextInput): string => `PersistentVolume ${missing}, which does not exist`
const newVolume = ({ missing }: TextInput): string => `a volume, from ${missing || 'its provisioner'} or by hand`
const provisioner = ({ missing, message }: TextInput): string =>
  `provisioner ${missing} to do what it has failed for: ${message}`
const deletion = (input: TextInput): string => `what the last try has failed for${after(input)}`
const detached = ({ missing, node }: TextInput, where: string): string =>
  `volume ${missing} to be detached from node ${node}${where}: it can be attached to one node only`
const GROWING_POD = 'a pod that uses the claim, where the kubelet can make it grow'
const growing = ({ names, pods }: TextInput): string =>
  names === undefined ? GROWING_POD : `the kubelet to make it grow, where ${pods.join(', ')} runs`

/** Patterns of scheduler messages, and the explanation to append to the text `to choose a node`. */
const NO_NODE: readonly (readonly [RegExp, string])[] = [
  [/max volume count/, ': the nodes have as many volumes as their CSINodes allow'],
  [/volume node affinity conflict/, ': its volume is reachable from none that is left'],
  [/untolerated taint/, ': the nodes have taints that it does not tolerate'],
  [/did not have enough free storage|not enough free storage/, ': no node has enough free storage'],
]

const TEXTS: ByReason<Text> = {
  ...texts(CLAIM, ROWS.volumeMissing, { VolumeMissing: noVolume }),
  ...texts(CLAIM, ROWS.noClass, {
    NoClass: 'a StorageClass: it names none, no class is the default, and no volume without a class fits',
  }),
  ...texts(CLAIM, ROWS.claimNotBound, {
    StorageClassMissing: ({ missing }) => `StorageClass ${missing}, which does not exist`,
    NoConsumer: 'a pod that uses it, as its StorageClass asks',
    ConsumerNotScheduled: ({ pods }) =>
      `the scheduler to choose a node for ${pods.map((pod) => `Pod ${pod}`).join(', ') || 'its pod'}`,
    Binding: newVolume,
    ClaimNotBound: newVolume,
    Provisioning: ({ missing }) => `provisioner ${missing} to create a volume`,
  }),
  ...texts(CLAIM, ROWS.volumeOfAnother, {
    VolumeOfAnother: ({ missing }) => `PersistentVolume ${missing}, which belongs to another claim`,
    VolumeMismatch: (input) => `PersistentVolume ${input.missing}, which does not fit${after(input)}`,
    VolumeNotThere: noVolume,
  }),
  ...texts(CLAIM, ROWS.provisioningFails, { ProvisioningFails: provisioner, ClassCannotProvision: provisioner }),
  ...texts(POD, ROWS.claimNotBound, {
    ClaimMissing: ({ missing }) => `PersistentVolumeClaim ${missing}, which does not exist`,
  }),
  ...texts(POD, ROWS.notScheduled, {
    NotScheduled: 'the scheduler to choose a node',
    NoNodeFits: ({ message = '' }) =>
      `the scheduler to choose a node${NO_NODE.find(([pattern]) => pattern.test(message))?.[1] ?? ''}`,
    PodWithoutVolume: 'the scheduler to choose a node, once its claim has a volume',
  }),
  ...texts(KUBELET, ROWS.notAskedFor, {
    NotAskedFor: ({ missing, node }) => `${ATTACH_DETACH} to ask for volume ${missing} on node ${node}`,
    NotReported: ({ missing, node }) =>
      `${ATTACH_DETACH} to report volume ${missing} as attached in the status of node ${node}`,
  }),
  ...texts(ATTACH_DETACH, ROWS.multiAttach, {
    MultiAttach: (input) => detached(input, input.list && `, where ${input.list} uses it`),
    UnmountedElsewhereFirst: (input) => detached(input, input.list && `, where ${input.list} ends`),
    DetachedElsewhereFirst: (input) => detached(input, ''),
  }),
  ...texts(POD, ROWS.nodeGone, {
    NodeGone: ({ node, list }) =>
      list === ''
        ? `node ${node}, which does not exist`
        : `${list} to be deleted by force: its node ${node} does not exist`,
    NodeNotReady: ({ node, list }) =>
      list === ''
        ? `node ${node} to be ready: its kubelet does not answer`
        : `${list} to end on node ${node}, whose kubelet does not answer`,
  }),
  ...texts(KUBELET, ROWS.mountPending, {
    MountPending: ({ node, message }) => `what it has failed for on node ${node}: ${message}`,
  }),
  ...texts(FILE_SYSTEM, ROWS.nodeResizePending, {
    NoPodToGrow: GROWING_POD,
    NodeResizePending: ({ pods }) => `the kubelet to make it grow, where ${pods.join(', ')} runs`,
  }),
  ...texts(FILE_SYSTEM, ROWS.nodeResizeFailed, { NodeResizeFails: growing, NodeResizeInfeasible: growing }),
  ...texts(DELETION, ROWS.podEnding, {
    PodEnding: ({ node }) =>
      node === '' ? 'its finalizers' : `the kubelet of node ${node} to end it and to unmount its volumes`,
  }),
  ...texts('its deletion', ROWS.foreignFinalizer, {
    ClaimInUse: ({ pods }) => `${pods.join(', ')} to end`,
    ClaimDeleting: 'the pods that use it to end',
  }),
  ...texts(DELETION, ROWS.foreignFinalizer, {
    ForeignFinalizer: ({ list }) => `the owner of finalizer ${list} to remove it`,
    VolumeBound: ({ missing }) => `PersistentVolumeClaim ${missing}, which is bound to it, to be deleted`,
  }),
  ...texts(DELETION, ROWS.volumeStillAttached, {
    VolumeStillAttached: ({ names = [], list }) =>
      names.length === 0
        ? 'the attacher to remove its finalizer'
        : `${names.length === 1 ? 'VolumeAttachment' : 'VolumeAttachments'} ${list} to be deleted`,
  }),
  ...texts(DELETION, ROWS.deleteFails, {
    DeleteFails: deletion,
    DeletionFailed: deletion,
    VolumeDeleting: 'its provisioner to delete it: its claim is gone',
  }),
}

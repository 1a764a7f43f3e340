import type { EventText } from '@csi-sidecars/events'
import {
  type ClaimContext,
  causesFirst,
  claimWaits,
  type ObjectWait,
  podWait,
  volumeWaits,
} from '@csi-sidecars/kubectl-csi/waits'
import type { Attachment, CachedNode, CachedPod, CachedSnapshot, Claim, Volume } from '@csi-sidecars/volume-controllers'
import { uniqueVolumeName } from '@csi-sidecars/volume-controllers'
import type { Remedy } from '@csi-sidecars/waits'
import { remedyOf, WAIT_REASONS, type WaitReason } from '@csi-sidecars/waits'
import type { Wait } from '../view/wire.ts'
import type { LoggedFailure } from './call-log.ts'

/** The objects and failures from which one row of the page is computed. */
export interface RowView {
  /** The name of the row's claim, even if the claim does not exist. */
  readonly claimKey: string | undefined
  readonly claim: Claim | undefined
  readonly volume: Volume | undefined
  readonly attachments: readonly Attachment[]
  readonly pods: readonly CachedPod[]
  readonly snapshots: readonly CachedSnapshot[]
  /** The message of the PV controller about an unbound claim. */
  readonly binding: EventText | undefined
  /** True if the volume must be attached before it is mounted. */
  readonly attaches: boolean
  readonly node: (name: string) => CachedNode | undefined
  /** Returns the failure of the first failing method in `methods`, for calls of the actor `who` about this volume. */
  readonly failure: (who: string, ...methods: readonly string[]) => LoggedFailure | undefined
  /** Returns the last warning event of a pod with one of these reasons. */
  readonly warning: (podKey: string, ...reasons: readonly string[]) => string | undefined
}

/** A wait without its start time, which `rowOf` adds. */
export interface WaitNow extends Omit<Wait, 'since' | 'stuck'> {
  readonly remedy: Remedy
}

/** Returns the waits of a row of the page. In a chain of waits the cause comes first, as in `kubectl csi`. */
export function waitsOf(view: RowView): readonly WaitNow[] {
  const context = contextOf(view)
  const [ofClaim] = view.claim === undefined ? [] : claimWaits(view.claim, context)
  const ofPods = view.pods.flatMap((pod) => podWait(pod, context) ?? [])
  const waits = [...(ofClaim === undefined ? [] : [ofClaim]), ...ofPods, ...volumeWaits(context)]
  return causesFirst(waits, context).map((wait) => inWords(wait, view))
}

function contextOf({ failure, ...view }: RowView): ClaimContext {
  return {
    ...view,
    attaches: view.attaches && view.volume?.csi !== undefined,
    nameOnNodes: view.volume?.csi && uniqueVolumeName(view.volume.csi),
    failing: (...asked) => messageOf(failure(...asked)),
  }
}

function inWords({ reason, on, object, message, ...wait }: ObjectWait, view: RowView): WaitNow {
  return {
    who: on,
    level: WAIT_REASONS[reason].level,
    remedy: remedyOf(reason, WAIT_REASONS[reason].remedy),
    object: `${object.kind} ${object.name}${object.node === undefined ? '' : ` on ${object.node}`}`,
    why: WHY[reason]({ ...object, ...wait, names: (wait.names ?? []).join(', ') }, view),
    ...(message !== undefined && { message }),
  }
}

/** Returns the driver's error message, with the number of failures if there are several. */
function messageOf(failure: LoggedFailure | undefined): string | undefined {
  if (failure === undefined) return undefined
  const { method, code, message, times } = failure
  const often = times > 1 ? ` (${times} times)` : ''
  return `${method}: ${code}${message === '' ? '' : `: ${message}`}${often}`
}

interface TextInput {
  /** The node that the wait is about. */
  readonly node?: string | undefined
  readonly names: string
}

type Why = (wait: TextInput, view: RowView) => string

const grows = ({ claim }: RowView): string => `from ${claim?.capacity ?? '0'} to ${claim?.request}`
const named = ({ claim }: RowView): string => claim?.volumeName ?? ''

const WHY: Readonly<Record<WaitReason, Why>> = {
  VolumeMissing: () => 'its volume is gone, and the data with it',
  NoClass: () => 'it names no class, there is no default class, and no free volume fits',
  StorageClassMissing: (_, { claim }) => `class ${claim?.className} does not exist`,
  NoConsumer: () => 'its class creates no volume before a pod uses the claim',
  ConsumerNotScheduled: () => 'chooses a node for its pod first',
  VolumeOfAnother: (_, view) => `volume ${named(view)} belongs to another claim`,
  VolumeMismatch: (_, view) => `volume ${named(view)} does not fit`,
  VolumeNotThere: (_, view) => `volume ${named(view)} is not there`,
  Binding: () => 'binds it',
  ClaimNotBound: () => 'it has no volume yet',
  Provisioning: (_, { claim }) => `creates volume pvc-${claim?.uid}`,
  ProvisioningFails: () => 'the driver creates no volume',
  ClassCannotProvision: (_, { claim }) => `class ${claim?.className} cannot create a volume`,
  ClaimMissing: (_, { claimKey }) => `claim ${claimKey} does not exist`,
  NotScheduled: () => 'chooses a node for it',
  NoNodeFits: () => 'no node will do',
  PodWithoutVolume: (_, { claim }) => `claim ${claim?.name} has no volume yet`,
  PodLostVolume: (_, { claim }) => `claim ${claim?.name} has lost its volume`,
  NotAskedFor: ({ node }) => `asks for the volume on ${node}`,
  MultiAttach: ({ names, node }) =>
    `Multi-Attach: the volume is for one node at a time, and pod ${names} uses it on ${node}`,
  UnmountedElsewhereFirst: ({ node }) => `unmounts the volume on ${node} first`,
  DetachedElsewhereFirst: ({ node }) => `the volume is detached from ${node} first`,
  DetachedHereFirst: () => 'an earlier attachment to this node has to end first',
  Attaching: ({ node }) => `attaches the volume to ${node}`,
  AttachFails: ({ node }) => `the driver does not attach the volume to ${node}`,
  CannotAttach: ({ node }) => `the volume cannot be attached to ${node}`,
  NotReported: ({ node }) => `reports on ${node} that the volume is attached`,
  NodeGone: ({ node }) => `${node} no longer exists`,
  Mounting: ({ node }) => `mounts the volume on ${node}`,
  MountPending: ({ node }) => `the driver does not mount the volume on ${node}`,
  NodeNotReady: ({ node }) => `${node} is not ready`,
  Expanding: (_, view) => `expands it ${grows(view)}`,
  ExpandFails: (_, view) => `the driver does not expand it ${grows(view)}`,
  InfeasibleSize: (_, view) => `the driver cannot expand it ${grows(view)}`,
  NoPodToGrow: () => 'its file system grows when a pod uses it',
  NodeResizePending: (_, view) => `expands its file system ${grows(view)}`,
  NodeResizeFails: () => 'the file system is not expanded',
  NodeResizeInfeasible: () => 'the node cannot expand its file system',
  Modifying: (_, { claim }) => `changes its class to ${claim?.attributesClass}`,
  ModifyFails: (_, { claim }) => `the driver does not change its class to ${claim?.attributesClass}`,
  PodEnding: () => 'ends it and unmounts its volume',
  UnmountFails: () => 'the volume is not unmounted',
  Unmounting: ({ node }) => `unmounts it on ${node}`,
  DetachNotAskedFor: ({ node }) => `asks for its detach from ${node}`,
  Detaching: ({ node }) => `detaches it from ${node}`,
  DetachFails: ({ node }) => `the driver does not detach the volume from ${node}`,
  ClaimInUse: ({ names }) => `pods still use it: ${names}`,
  ClaimDeleting: () => 'deletes it',
  ForeignFinalizer: ({ names }) => `its finalizer is for others to remove: ${names}`,
  VolumeBound: () => 'its claim is there, and bound to it',
  VolumeStillAttached: () => 'it is still attached',
  VolumeRetained: () => 'its claim is gone, and its reclaim policy Retain keeps it',
  DeleteFails: () => 'the driver does not delete it',
  DeletionFailed: () => 'it cannot be deleted',
  VolumeDeleting: () => 'deletes it',
}

import type { Remedy } from './stuck.ts'

/** The component or person that has to act next. */
export type Party =
  | 'you'
  | 'scheduler'
  | 'persistent-volume'
  | 'csi-provisioner'
  | 'attach-detach'
  | 'csi-attacher'
  | 'csi-resizer'
  | `kubelet/${string}`

/** The object that waits. */
export interface About {
  readonly kind: 'claim' | 'pod' | 'volume'
  readonly name: string
  /** The node from which the volume is detached. Undefined for other waits. */
  readonly node?: string
}

/** `works`: a component is working. `waits`: another event must come first. `trouble`: the work fails or is blocked. */
export type WaitLevel = 'works' | 'waits' | 'trouble'

const retried = (level: WaitLevel): Kind => ({ level, remedy: 'retried' })
const BLOCKED: Kind = { level: 'trouble', remedy: 'blocked' }
const IDLE: Kind = { level: 'waits', remedy: 'idle' }

interface Kind {
  readonly level: WaitLevel
  readonly remedy: Remedy
}

/** All reasons to wait, in the order of the life of a volume. */
export const REASONS = {
  // Reasons while a claim is pending.
  VolumeMissing: BLOCKED,
  NoClass: BLOCKED,
  StorageClassMissing: BLOCKED,
  NoConsumer: IDLE,
  ConsumerNotScheduled: retried('works'),
  VolumeOfAnother: BLOCKED,
  VolumeMismatch: BLOCKED,
  VolumeNotThere: retried('waits'),
  Binding: retried('works'),
  ClaimNotBound: retried('waits'),
  // Reasons while a volume is being provisioned.
  Provisioning: retried('works'),
  ProvisioningFails: retried('trouble'),
  ClassCannotProvision: retried('trouble'),
  // Reasons while a pod is being scheduled.
  ClaimMissing: BLOCKED,
  NotScheduled: retried('works'),
  NoNodeFits: retried('trouble'),
  PodWithoutVolume: retried('waits'),
  PodLostVolume: BLOCKED,
  // Reasons while a volume is being attached.
  NotAskedFor: retried('works'),
  MultiAttach: retried('trouble'),
  UnmountedElsewhereFirst: retried('works'),
  DetachedElsewhereFirst: retried('works'),
  DetachedHereFirst: retried('works'),
  Attaching: retried('works'),
  AttachFails: retried('trouble'),
  CannotAttach: retried('trouble'),
  NotReported: retried('works'),
  NodeGone: BLOCKED,
  // Reasons while a volume is being mounted.
  Mounting: retried('works'),
  MountPending: retried('trouble'),
  NodeNotReady: retried('trouble'),
  // Reasons while a volume is being expanded.
  Expanding: retried('works'),
  ExpandFails: retried('trouble'),
  InfeasibleSize: BLOCKED,
  NoPodToGrow: IDLE,
  NodeResizePending: retried('works'),
  NodeResizeFails: retried('trouble'),
  NodeResizeInfeasible: BLOCKED,
  // Reasons while a volume is being modified.
  Modifying: retried('works'),
  ModifyFails: retried('trouble'),
  // Reasons while a volume is being unmounted and detached.
  PodEnding: retried('works'),
  UnmountFails: retried('trouble'),
  Unmounting: retried('works'),
  DetachNotAskedFor: retried('works'),
  Detaching: retried('works'),
  DetachFails: retried('trouble'),
  // Reasons while a claim or a volume is being deleted.
  ClaimInUse: retried('waits'),
  ClaimDeleting: retried('works'),
  ForeignFinalizer: retried('waits'),
  VolumeBound: retried('waits'),
  VolumeStillAttached: retried('waits'),
  VolumeRetained: IDLE,
  DeleteFails: retried('trouble'),
  DeletionFailed: retried('trouble'),
  VolumeDeleting: retried('works'),
} as const satisfies Readonly<Record<string, Kind>>

export type Reason = keyof typeof REASONS

/** The reason why an object waits, and who has to act next (`on`). Each program has its own texts. */
export interface ObjectWait {
  readonly about: About
  readonly reason: Reason
  readonly on: Party
  /** The node that the reason is about, or another node that has the volume. */
  readonly node?: string
  /** The names of the pods, finalizers or attachments that have to disappear first. */
  readonly names?: readonly string[]
  /** The last message of Kubernetes or of the driver about the reason. */
  readonly message?: string
}

export type WaitOf = Omit<ObjectWait, 'about'>

/** Returns `otherwise`. If there is an error message, adds it and replaces the reason by `fails`. */
export function failingOr(message: string | undefined, fails: Reason, otherwise: WaitOf): WaitOf {
  return message === undefined ? otherwise : { ...otherwise, reason: fails, message }
}

/** Adds the message to the wait, if there is a message. */
export function withMessage(wait: WaitOf, message: string | undefined): WaitOf {
  return message === undefined ? wait : { ...wait, message }
}

import type { Remedy } from './stuck.ts'

/** The party that has to act next. */
export type Party =
  | 'you'
  | 'scheduler'
  | 'persistent-volume'
  | 'csi-provisioner'
  | 'attach-detach'
  | 'csi-attacher'
  | 'csi-resizer'
  | `kubelet/${string}`

/** The object of a wait. */
export interface About {
  readonly kind: 'claim' | 'pod' | 'volume'
  readonly name: string
  /** The node that the volume leaves. */
  readonly node?: string
}

/** `works`: a party works on it. `waits`: it continues when something else happens. `trouble`: it fails or is blocked. */
export type WaitLevel = 'works' | 'waits' | 'trouble'

const retried = (level: WaitLevel): Kind => ({ level, remedy: 'retried' })
const BLOCKED: Kind = { level: 'trouble', remedy: 'blocked' }
const IDLE: Kind = { level: 'waits', remedy: 'idle' }

interface Kind {
  readonly level: WaitLevel
  readonly remedy: Remedy
}

/** Every reason for which anything about a volume waits, in the order of a volume's life. */
export const REASONS = {
  // pending
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
  // provisioning
  Provisioning: retried('works'),
  ProvisioningFails: retried('trouble'),
  ClassCannotProvision: retried('trouble'),
  // scheduling
  ClaimMissing: BLOCKED,
  NotScheduled: retried('works'),
  NoNodeFits: retried('trouble'),
  PodWithoutVolume: retried('waits'),
  PodLostVolume: BLOCKED,
  // attaching
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
  // mounting
  Mounting: retried('works'),
  MountPending: retried('trouble'),
  NodeNotReady: retried('trouble'),
  // expanding
  Expanding: retried('works'),
  ExpandFails: retried('trouble'),
  InfeasibleSize: BLOCKED,
  NoPodToGrow: IDLE,
  NodeResizePending: retried('works'),
  NodeResizeFails: retried('trouble'),
  NodeResizeInfeasible: BLOCKED,
  // modifying
  Modifying: retried('works'),
  ModifyFails: retried('trouble'),
  // detaching
  PodEnding: retried('works'),
  UnmountFails: retried('trouble'),
  Unmounting: retried('works'),
  DetachNotAskedFor: retried('works'),
  Detaching: retried('works'),
  DetachFails: retried('trouble'),
  // deleting
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

/** One wait of an object for a party. Each user of this package has its own texts. */
export interface ObjectWait {
  readonly about: About
  readonly reason: Reason
  readonly on: Party
  /** The node that it is about, or another node that has the volume. */
  readonly node?: string
  /** Pods, finalizers or attachments that are in the way. */
  readonly names?: readonly string[]
  /** The last text of Kubernetes or of the driver. */
  readonly message?: string
}

/** A wait without its object. */
export type WaitOf = Omit<ObjectWait, 'about'>

/** A failing call is the reason, else the reason is that it has not ended. */
export function failingOr(message: string | undefined, fails: Reason, otherwise: WaitOf): WaitOf {
  return message === undefined ? otherwise : { ...otherwise, reason: fails, message }
}

/** Adds the message, if there is one. */
export function withMessage(wait: WaitOf, message: string | undefined): WaitOf {
  return message === undefined ? wait : { ...wait, message }
}

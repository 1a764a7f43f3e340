/**
 * Every reason why an object or its work waits, as users see it: in `kubectl csi`, in `/debug/stuck`, in the label
 * `reason` of metrics, in events and on the page of the embedded cluster. One reason has one name in all of them.
 */
export type Reason = WaitReason | SnapshotReason | WorkReason | FindingReason | RefusalReason

/** The event that ends a wait. */
export type Remedy =
  /** The wait ends by itself or by a retry. */
  | 'retried'
  /** No retry helps: an object has to change first. */
  | 'blocked'
  /** Nothing is wrong: the object waits for a user, perhaps for ever. */
  | 'idle'

/** `works`: a component is working. `waits`: another event must come first. `trouble`: the work fails or is blocked. */
export type WaitLevel = 'works' | 'waits' | 'trouble'

interface WaitKind {
  readonly level: WaitLevel
  readonly remedy: Remedy
}

const retried = (level: WaitLevel): WaitKind => ({ level, remedy: 'retried' })
const BLOCKED: WaitKind = { level: 'trouble', remedy: 'blocked' }
const IDLE: WaitKind = { level: 'waits', remedy: 'idle' }

/** The reasons why claims, pods and volumes wait, in the order of the life of a volume. */
export const WAIT_REASONS = {
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
} as const satisfies Readonly<Record<string, WaitKind>>

export type WaitReason = keyof typeof WAIT_REASONS

/** The reasons for which a snapshot or a claim with a data source waits, each with its remedy. */
export const SNAPSHOT_REASONS = {
  SourceClaimMissing: 'blocked',
  SourceClaimNotBound: 'retried',
  SnapshotClassMissing: 'blocked',
  NoSnapshotClass: 'blocked',
  ContentMissing: 'blocked',
  ContentNotCreated: 'retried',
  ContentNotReady: 'retried',
  SnapshotInUse: 'retried',
  ContentDeleting: 'retried',
  SnapshotDeleting: 'retried',
  SnapshotNotBegun: 'retried',
  SnapshotFails: 'retried',
  SnapshotNotReady: 'retried',
  MemberNotReported: 'retried',
  CreationUncertain: 'retried',
  SnapshotMissing: 'blocked',
  SnapshotNotDeleted: 'retried',
  DeleteSnapshotFails: 'retried',
  RestoreSourceMissing: 'blocked',
  RestoreSourceNotReady: 'retried',
  CloneSourceMissing: 'blocked',
  CloneSourceNotBound: 'retried',
} as const satisfies Readonly<Record<string, Remedy>>

export type SnapshotReason = keyof typeof SNAPSHOT_REASONS

/** The reasons for which the work of a sidecar is pending, in addition to those of the objects, each with its remedy. */
export const WORK_REASONS = {
  // Reasons of each work, by the state of its key.
  NoWorkerFree: 'retried',
  DriverAway: 'retried',
  VolumeOrNodeBusy: 'retried',
  Reading: 'retried',
  DriverCall: 'retried',
  APIWrite: 'retried',
  Failed: 'retried',
  Postponed: 'retried',
  // Reasons of attaches and detaches.
  PersistentVolumeMissing: 'blocked',
  PersistentVolumeDeleting: 'retried',
  VolumeNotUsable: 'retried',
  CSINodeMissing: 'retried',
  DriverNotOnNode: 'retried',
  StillAttached: 'retried',
  // Reasons of expansions and modifications.
  NodeResizeInProgress: 'retried',
  Infeasible: 'blocked',
  VolumeInUse: 'retried',
  VolumeAttributesClassMissing: 'blocked',
  ModifyNotSupported: 'blocked',
  // Reasons while a volume is being created or deleted.
  StorageClassNotUsable: 'retried',
  VolumeAttributesClassNotUsable: 'retried',
  SourceNotUsable: 'retried',
  SnapshotNotUsable: 'retried',
  VolumeNameTaken: 'retried',
  TopologyMissing: 'retried',
  TopologyOfNodeMissing: 'retried',
  PersistentVolumeNotStored: 'retried',
  StillCloned: 'retried',
} as const satisfies Readonly<Record<string, Remedy>>

export type WorkReason = keyof typeof WORK_REASONS

/** The reasons that only a reader of many objects can find, each with its remedy. */
export const FINDING_REASONS = {
  Waiting: 'retried',
  // Reasons that concern the sidecars.
  NoLeader: 'retried',
  TwoLeaders: 'retried',
  HolderGone: 'retried',
  ContainerNotReady: 'retried',
  NoSidecarSeen: 'retried',
  MigrationOff: 'retried',
  NodeWithoutDriver: 'retried',
  NodeFull: 'retried',
  // Reasons that concern a call to the driver.
  NotBegun: 'retried',
  Fails: 'retried',
  DriverCalled: 'retried',
  DriverSilent: 'retried',
  DriverTooSlow: 'retried',
  DriverUnavailable: 'retried',
  DriverRefuses: 'retried',
  AttachedElsewhere: 'retried',
  ModifyInfeasible: 'blocked',
  // Reasons that concern other objects and the API server.
  VolumeGone: 'blocked',
  VolumeBeingDeleted: 'retried',
  SecretUnreadable: 'retried',
  WebhookDenies: 'retried',
  QuotaExceeded: 'retried',
  Forbidden: 'retried',
} as const satisfies Readonly<Record<string, Remedy>>

export type FindingReason = keyof typeof FINDING_REASONS

/** The names of the gRPC codes with which a driver refuses a call. */
export const DRIVER_REFUSALS = [
  'Canceled',
  'Unknown',
  'InvalidArgument',
  'DeadlineExceeded',
  'NotFound',
  'AlreadyExists',
  'PermissionDenied',
  'ResourceExhausted',
  'FailedPrecondition',
  'Aborted',
  'OutOfRange',
  'Unimplemented',
  'Internal',
  'Unavailable',
  'DataLoss',
  'Unauthenticated',
] as const

/** The reasons with which the API server refuses a request. `Refused` is any other: webhooks may invent reasons. */
export const API_REFUSALS = [
  'AlreadyExists',
  'BadRequest',
  'Conflict',
  'Forbidden',
  'Invalid',
  'NotFound',
  'Refused',
  'ServiceUnavailable',
  'Timeout',
  'TooManyRequests',
  'Unauthorized',
] as const

export type DriverRefusalReason = (typeof DRIVER_REFUSALS)[number]
export type ApiRefusalReason = (typeof API_REFUSALS)[number]

/** The refusal of a request by the driver or by the API server. `Secret...` is about a Secret that a class names. */
export type RefusalReason =
  | DriverRefusalReason
  | `API${ApiRefusalReason}`
  | `Secret${ApiRefusalReason}`
  | 'APIUnreachable'

const REMEDIES: ReadonlyMap<string, Remedy> = new Map<string, Remedy>([
  ...Object.entries(WORK_REASONS),
  ...Object.entries(SNAPSHOT_REASONS),
  ...Object.entries(FINDING_REASONS),
  ...Object.entries(WAIT_REASONS).map(([reason, { remedy }]) => [reason, remedy] as const),
])

const REFUSALS: readonly RefusalReason[] = [
  ...DRIVER_REFUSALS,
  ...API_REFUSALS.flatMap((reason) => [`API${reason}`, `Secret${reason}`] as const),
  'APIUnreachable',
]

const REASONS: ReadonlySet<string> = new Set([...REMEDIES.keys(), ...REFUSALS])

/** Reports whether a text from another program is a reason that this version knows. */
export function isReason(text: string): text is Reason {
  return REASONS.has(text)
}

/** Returns the remedy of a reason. If a retry ends it, or if it is a refusal, returns `otherwise`. */
export function remedyOf(reason: Reason, otherwise: Remedy = 'retried'): Remedy {
  const remedy = REMEDIES.get(reason) ?? 'retried'
  return remedy === 'retried' ? otherwise : remedy
}

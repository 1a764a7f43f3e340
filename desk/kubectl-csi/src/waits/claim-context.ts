import type { Party } from './wait.ts'

/** The facts about a claim that show why it waits. Sizes are texts such as `1Gi`. */
export interface WaitingClaim {
  readonly name: string
  readonly deleting: boolean
  readonly finalizers?: readonly string[] | undefined
  readonly phase: string
  /** The StorageClass. Undefined: the default class is used. Empty: the claim refuses any class. */
  readonly className: string | undefined
  /** The volume that the claim names. Empty if any volume fits. */
  readonly volumeName: string
  readonly request: string
  readonly capacity: string | undefined
  /** The state of an expansion, as in `status.allocatedResourceStatuses`. */
  readonly resizeStatus: string | undefined
  readonly attributesClass: string
  readonly currentAttributesClass: string | undefined
  /** The state of a modification: `Pending`, `InProgress` or `Infeasible`. */
  readonly modifyStatus?: string | undefined
}

/** The facts about a pod that show why it waits. */
export interface PodState {
  readonly key: string
  readonly name: string
  /** The node of the pod. Empty while the pod is not scheduled. */
  readonly nodeName: string
  readonly deleting: boolean
  readonly phase: string
}

/** The facts about a PersistentVolume that show why it waits. */
export interface VolumeState {
  readonly key: string
  readonly deleting: boolean
  readonly finalizers?: readonly string[] | undefined
  readonly phase: string
  readonly accessModes: readonly string[]
  readonly reclaimPolicy: string
}

/** The facts about a VolumeAttachment that show why it waits. */
export interface WaitingAttachment {
  readonly key: string
  readonly nodeName: string
  readonly deleting: boolean
  readonly attached: boolean
  readonly attachError: string | undefined
  readonly detachError: string | undefined
}

/** The facts about a Node that its volumes wait for. */
export interface NodeState {
  readonly ready: boolean
  readonly volumesAttached: readonly { readonly name: string }[]
  readonly volumesInUse: readonly string[]
}

/** The error message of the last failed call. */
export type FailureText = string

/** The known facts about the class of a claim without a volume. */
export type ClaimClass =
  | { readonly kind: 'none'; readonly hasDefault: boolean }
  | { readonly kind: 'missing' }
  | { readonly kind: 'present'; readonly waitsForPod: boolean }

/** A claim with its volume and their users, at one moment. Unknown facts are undefined, and no reason to wait. */
export interface ClaimContext {
  /** The key of the claim, which need not exist. Undefined without a claim. */
  readonly claimKey: string | undefined
  readonly claim: WaitingClaim | undefined
  readonly volume: VolumeState | undefined
  /** True if the claim's volume does not exist. False if that is unknown. */
  readonly volumeGone?: boolean
  readonly attachments: readonly WaitingAttachment[]
  readonly pods: readonly PodState[]
  /** The last event about an unbound claim, from the PV controller or the provisioner. */
  readonly binding?: { readonly reason: string; readonly message: string } | undefined
  readonly storageClass?: ClaimClass | undefined
  /** True if volumes of the driver are attached to nodes. */
  readonly attaches: boolean
  /** The name of the volume in the status of Nodes, if known. */
  readonly nameOnNodes: string | undefined
  /** Reports whether the Node is known to be missing. */
  readonly nodeGone?: (name: string) => boolean
  readonly node: (name: string) => NodeState | undefined
  /** Returns the last error of a component's calls to the driver for this volume. */
  readonly failing: (party: Party, ...methods: readonly string[]) => FailureText | undefined
  /** Returns the last Warning event about a pod with one of these reasons. */
  readonly warning: (podKey: string, ...reasons: readonly string[]) => string | undefined
}

export function isTerminated({ phase }: PodState): boolean {
  return phase === 'Succeeded' || phase === 'Failed'
}

/** The prefix of the attacher's finalizers on VolumeAttachments and PersistentVolumes. The resizer has none. */
export const OWN_FINALIZERS = 'external-attacher/'
/** The prefix of the provisioner's finalizer, which stays on a PersistentVolume until the volume is deleted. */
export const PROVISIONER_FINALIZERS = 'external-provisioner.volume.kubernetes.io/'
/** The finalizers that Kubernetes removes. Reports name their causes instead, for example the pods of the claim. */
const PROTECTION: ReadonlySet<string> = new Set(['kubernetes.io/pv-protection', 'kubernetes.io/pvc-protection'])

/** Returns the finalizers that neither the sidecars nor Kubernetes remove. Their owners have to remove them. */
export function foreignFinalizers(finalizers: readonly string[] | undefined): readonly string[] {
  return (finalizers ?? []).filter((name) => !name.startsWith(OWN_FINALIZERS) && !PROTECTION.has(name))
}

import type { Party } from './wait.ts'

/** A claim, as far as waits depend on it. Sizes are texts, as quantities are written. */
export interface WaitingClaim {
  readonly name: string
  readonly deleting: boolean
  readonly finalizers?: readonly string[] | undefined
  readonly phase: string
  /** Undefined: it names none, and the default class is welcome. Empty: it wants none. */
  readonly className: string | undefined
  /** Empty if any volume fits. */
  readonly volumeName: string
  readonly request: string
  readonly capacity: string | undefined
  /** How far an expansion has come, in the API's terms. */
  readonly resizeStatus: string | undefined
  readonly attributesClass: string
  readonly currentAttributesClass: string | undefined
  /** `Pending`, `InProgress` or `Infeasible`, while a modification runs. */
  readonly modifyStatus?: string | undefined
}

export interface PodState {
  readonly key: string
  readonly name: string
  /** Empty while the pod is not scheduled. */
  readonly nodeName: string
  readonly deleting: boolean
  readonly phase: string
}

export interface VolumeState {
  readonly key: string
  readonly deleting: boolean
  readonly finalizers?: readonly string[] | undefined
  readonly phase: string
  readonly accessModes: readonly string[]
  readonly reclaimPolicy: string
}

export interface WaitingAttachment {
  readonly key: string
  readonly nodeName: string
  readonly deleting: boolean
  readonly attached: boolean
  readonly attachError: string | undefined
  readonly detachError: string | undefined
}

export interface NodeState {
  readonly ready: boolean
  readonly volumesAttached: readonly { readonly name: string }[]
  readonly volumesInUse: readonly string[]
}

/** Calls or tries that fail: the text of the last one. */
export type FailureText = string

/** The known facts about the class of a claim without a volume. */
export type ClaimClass =
  | { readonly is: 'none'; readonly hasDefault: boolean }
  | { readonly is: 'missing' }
  | { readonly is: 'present'; readonly waitsForPod: boolean }

/** A claim, its volume and their users at one moment. Unknown facts are undefined and lead to no wait. */
export interface Around {
  /** The key of the claim, whether it exists or not. Undefined for a volume without a claim. */
  readonly claimKey: string | undefined
  readonly claim: WaitingClaim | undefined
  readonly volume: VolumeState | undefined
  /** True if the claim names a volume that does not exist. False if that is unknown. */
  readonly volumeGone?: boolean
  readonly attachments: readonly WaitingAttachment[]
  /** The pods that use the claim. */
  readonly pods: readonly PodState[]
  /** The last event of the PV controller or the provisioner about an unbound claim. */
  readonly binding?: { readonly reason: string; readonly message: string } | undefined
  readonly storageClass?: ClaimClass | undefined
  /** The volume's driver attaches. */
  readonly attaches: boolean
  /** The name of the volume in the status of nodes, if it is known. */
  readonly nameOnNodes: string | undefined
  /** Reports whether the Node is known to be missing. */
  readonly nodeGone?: (name: string) => boolean
  readonly node: (name: string) => NodeState | undefined
  /** Returns the error of the party's calls for this volume. */
  readonly failing: (party: Party, ...methods: readonly string[]) => FailureText | undefined
  /** The last warning about a pod with one of these reasons. */
  readonly warning: (podKey: string, ...reasons: readonly string[]) => string | undefined
}

export function isTerminated({ phase }: PodState): boolean {
  return phase === 'Succeeded' || phase === 'Failed'
}

/** The prefix of the attacher's finalizers on VolumeAttachments and PersistentVolumes. The resizer has none. */
export const OWN_FINALIZERS = 'external-attacher/'
/** The provisioner keeps a volume with it until the driver has deleted it. */
export const PROVISIONER_FINALIZERS = 'external-provisioner.volume.kubernetes.io/'
/** The finalizers of Kubernetes. Other waits explain them. */
const PROTECTION: ReadonlySet<string> = new Set(['kubernetes.io/pv-protection', 'kubernetes.io/pvc-protection'])

/** Returns the finalizers that neither the sidecars nor Kubernetes remove. Their owners have to remove them. */
export function foreignFinalizers(finalizers: readonly string[] | undefined): readonly string[] {
  return (finalizers ?? []).filter((name) => !name.startsWith(OWN_FINALIZERS) && !PROTECTION.has(name))
}

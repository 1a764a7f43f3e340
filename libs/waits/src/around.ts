import type { Party } from './wait.ts'

/** A claim, as far as waits depend on it. Sizes are texts, as quantities are written. */
export interface WaitingClaim {
  readonly name: string
  readonly deleting: boolean
  readonly finalizers?: readonly string[] | undefined
  readonly phase: string
  /** Undefined: it names none, and the default class is welcome. Empty: it wants none. */
  readonly className: string | undefined
  /** Empty when any volume will do. */
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

/** What is known of the class of a claim that has no volume yet. */
export type ClaimClass =
  | { readonly is: 'none'; readonly hasDefault: boolean }
  | { readonly is: 'missing' }
  | { readonly is: 'present'; readonly waitsForPod: boolean }

/** A claim, its volume and what uses them, at one moment. What is unknown is undefined, and nothing follows from it. */
export interface Around {
  /** Of the claim, be it there or not; undefined for a volume without one. */
  readonly claimKey: string | undefined
  readonly claim: WaitingClaim | undefined
  readonly volume: VolumeState | undefined
  /** Whether the claim names a volume that does not exist; false where that is unknown. */
  readonly volumeGone?: boolean
  readonly attachments: readonly WaitingAttachment[]
  /** Those that use the claim. */
  readonly pods: readonly PodState[]
  /** What the PV controller or the provisioner has last said about a claim that is not bound. */
  readonly binding?: { readonly reason: string; readonly message: string } | undefined
  readonly storageClass?: ClaimClass | undefined
  /** The volume's driver attaches. */
  readonly attaches: boolean
  /** The name of the volume in the status of nodes, where it is known. */
  readonly nameOnNodes: string | undefined
  /** There is no such Node, as far as is known. */
  readonly nodeGone?: (name: string) => boolean
  readonly node: (name: string) => NodeState | undefined
  /** What a party's calls for this volume fail with. */
  readonly failing: (party: Party, ...methods: readonly string[]) => FailureText | undefined
  /** The last warning about a pod with one of these reasons. */
  readonly warning: (podKey: string, ...reasons: readonly string[]) => string | undefined
}

export function isTerminated({ phase }: PodState): boolean {
  return phase === 'Succeeded' || phase === 'Failed'
}

/** Of both sidecars only the attacher has one, on VolumeAttachments and PersistentVolumes. */
export const OWN_FINALIZERS = 'external-attacher/'
/** The provisioner keeps a volume with it until the driver has deleted it. */
export const PROVISIONER_FINALIZERS = 'external-provisioner.volume.kubernetes.io/'
/** Kubernetes' own: their waits are explained elsewhere. */
const PROTECTION: ReadonlySet<string> = new Set(['kubernetes.io/pv-protection', 'kubernetes.io/pvc-protection'])

/** Those that neither the sidecars nor Kubernetes itself wait for: their owners have to remove them. */
export function foreignFinalizers(finalizers: readonly string[] | undefined): readonly string[] {
  return (finalizers ?? []).filter((name) => !name.startsWith(OWN_FINALIZERS) && !PROTECTION.has(name))
}

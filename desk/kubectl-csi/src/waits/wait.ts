import type { WaitReason } from '@csi-sidecars/waits'

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
export interface WaitingObject {
  readonly kind: 'claim' | 'pod' | 'volume'
  readonly name: string
  /** The node from which the volume is detached. Undefined for other waits. */
  readonly node?: string
}

/** The reason why an object waits, and who has to act next (`on`). Each program has its own texts. */
export interface ObjectWait {
  readonly object: WaitingObject
  readonly reason: WaitReason
  readonly on: Party
  /** The node that the reason is about, or another node that has the volume. */
  readonly node?: string
  /** The names of the pods, finalizers or attachments that have to disappear first. */
  readonly names?: readonly string[]
  /** The last message of Kubernetes or of the driver about the reason. */
  readonly message?: string
}

export type WaitOf = Omit<ObjectWait, 'object'>

/** Returns `otherwise`. If there is an error message, adds it and replaces the reason by `fails`. */
export function failingOr(message: string | undefined, fails: WaitReason, otherwise: WaitOf): WaitOf {
  return message === undefined ? otherwise : { ...otherwise, reason: fails, message }
}

/** Adds the message to the wait, if there is a message. */
export function withMessage(wait: WaitOf, message: string | undefined): WaitOf {
  return message === undefined ? wait : { ...wait, message }
}

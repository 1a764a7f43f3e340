import { unreachable } from '@csi-sidecars/base'
import type { AttachedTo } from './actual-state.ts'
import type { PodRef } from './desired-state.ts'

/** One volume on one node: pods on the node want the volume, or the node has the volume or may have it. */
export interface NodeView {
  readonly node: string
  /** The pods on the node that want the volume. If there are none, the volume should be detached. */
  readonly pods: readonly PodRef[]
  readonly actual: AttachedTo | undefined
  /** The VolumeAttachment in the API. `unknown`: it was requested, and the result is not known. */
  readonly attachment: 'none' | 'unknown' | 'waiting' | 'attached' | 'deleting'
  /** The attach error that the attacher wrote to the VolumeAttachment. */
  readonly attachError: string | undefined
  readonly errorReported: boolean
  /** The monotonic time at which the wait for the attacher began. */
  readonly waitingSince: number | undefined
  readonly isReported: boolean
  /** The kubelet reports that it uses the volume, or may be about to use it. */
  readonly inUse: boolean
  readonly health: 'healthy' | 'unhealthy' | 'gone'
  readonly outOfService: boolean
  readonly multiAttachReported: boolean
}

/** One volume and all inputs of its next step, at one moment. */
export interface AttachDetachView {
  readonly multiAttach: boolean
  readonly nodes: readonly NodeView[]
  readonly now: number
  /** How long an unhealthy node may report that it uses the volume; undefined: without limit. */
  readonly maxWaitForUnmountMs: number | undefined
}

export type Force = 'timeout' | 'out-of-service'

/** The CSI plugin of Kubernetes waits this long for the attacher. Then it reports a time-out and waits again. */
export const ATTACH_WAIT_MS = 2 * 60_000

export type NodeStep =
  | { readonly kind: 'markDetached'; readonly node: string }
  | { readonly kind: 'markAttached'; readonly node: string; readonly pods: readonly PodRef[] }
  | { readonly kind: 'markUncertain'; readonly node: string }
  /** Cancels a requested detach and reports the volume as attached, so that the node may use it. */
  | { readonly kind: 'keep'; readonly node: string }
  | { readonly kind: 'requestDetach'; readonly node: string }
  /** Runs the key of the volume again after `ms` milliseconds, even if no event occurs. */
  | { readonly kind: 'wait'; readonly ms: number }
  /** Removes the volume from the node status, and then detaches it if the node does not use it or `force` is set. */
  | { readonly kind: 'detach'; readonly node: string; readonly force: Force | undefined }
  | { readonly kind: 'attach'; readonly node: string }
  /** Reads the VolumeAttachment from the API server. */
  | { readonly kind: 'readAttachment'; readonly node: string }
  | {
      readonly kind: 'recordFailure'
      readonly node: string
      readonly pods: readonly PodRef[]
      readonly message: string
    }
  /** Starts the wait for the attacher. */
  | { readonly kind: 'beginWait'; readonly node: string }
  | { readonly kind: 'recordTimeout'; readonly node: string; readonly pods: readonly PodRef[] }
  | {
      readonly kind: 'recordMultiAttach'
      readonly node: string
      readonly pods: readonly PodRef[]
      readonly others: readonly string[]
    }

/**
 * Returns the plan for one volume. Detaches come first, because a moved pod needs its volume detached from the old
 * node.
 */
export function decideVolume(view: AttachDetachView): readonly NodeStep[] {
  const steps: NodeStep[] = []
  /** The nodes that have the volume, or may have it, after the steps that are planned so far. */
  const holders = new Map(view.nodes.filter(({ actual }) => actual !== undefined).map((node) => [node.node, node]))
  for (const node of view.nodes) {
    if (node.pods.length > 0 || node.actual === undefined) continue
    const plan = decideDetach(node, node.actual, view)
    if (plan.some((step) => step.kind === 'markDetached')) holders.delete(node.node)
    if (plan.some((step) => step.kind === 'detach')) holders.set(node.node, { ...node, attachment: 'deleting' })
    steps.push(...plan)
  }
  for (const node of view.nodes) {
    if (node.pods.length === 0) continue
    const others = [...holders.values()].filter((other) => other.node !== node.node)
    const plan = decideAttach(node, others, view)
    if (plan.some((step) => step.kind === 'attach')) holders.set(node.node, node)
    steps.push(...plan)
  }
  return steps
}

function decideDetach(node: NodeView, actual: AttachedTo, view: AttachDetachView): readonly NodeStep[] {
  const { node: name, attachment, inUse, outOfService, health } = node
  if (attachment === 'none') return [{ kind: 'markDetached', node: name }]
  if (attachment === 'unknown') return [{ kind: 'readAttachment', node: name }]
  if (attachment === 'deleting') return actual.state === 'attached' ? [{ kind: 'markUncertain', node: name }] : []
  if (outOfService) return [{ kind: 'detach', node: name, force: 'out-of-service' }]
  if (!inUse) return [{ kind: 'detach', node: name, force: undefined }]
  const asked: NodeStep = { kind: 'requestDetach', node: name }
  // A healthy node has unlimited time to unmount, because a pod on the node may still be writing.
  if (health === 'healthy' || view.maxWaitForUnmountMs === undefined) return [asked]
  const left = (actual.detachRequestedAt ?? view.now) + view.maxWaitForUnmountMs - view.now
  if (left <= 0) return [{ kind: 'detach', node: name, force: 'timeout' }]
  return [asked, { kind: 'wait', ms: left }]
}

function decideAttach(node: NodeView, others: readonly NodeView[], view: AttachDetachView): readonly NodeStep[] {
  const { node: name, pods, actual, attachment } = node
  const uncertain: NodeStep[] = actual?.state === 'uncertain' ? [] : [{ kind: 'markUncertain', node: name }]
  switch (attachment) {
    case 'none': {
      // Without a VolumeAttachment, the volume is not attached. Another client may have deleted the VolumeAttachment.
      const detached: NodeStep[] = actual === undefined ? [] : [{ kind: 'markDetached', node: name }]
      const mayAttach = view.multiAttach || others.length === 0
      return [...detached, ...(mayAttach ? [{ kind: 'attach' as const, node: name }] : multiAttach(node, others))]
    }
    case 'unknown':
      return [{ kind: 'readAttachment', node: name }]
    case 'deleting':
      // A pod wants the volume again while its detach runs. The detach must end first.
      return uncertain
    case 'attached':
      if (actual?.state !== 'attached') return [{ kind: 'markAttached', node: name, pods }]
      return node.isReported && actual.detachRequestedAt === undefined ? [] : [{ kind: 'keep', node: name }]
    case 'waiting':
      return [...uncertain, ...decideWait(node, view.now)]
    default:
      return unreachable(attachment)
  }
}

/** Reports the error of the attacher. If there is none, waits for the attacher and reports each time-out. */
function decideWait(node: NodeView, now: number): readonly NodeStep[] {
  const { node: name, pods, attachError, errorReported, waitingSince } = node
  if (attachError !== undefined)
    return errorReported ? [] : [{ kind: 'recordFailure', node: name, pods, message: attachError }]
  if (waitingSince === undefined)
    return [
      { kind: 'beginWait', node: name },
      { kind: 'wait', ms: ATTACH_WAIT_MS },
    ]
  const left = waitingSince + ATTACH_WAIT_MS - now
  if (left > 0) return [{ kind: 'wait', ms: left }]
  return [
    { kind: 'recordTimeout', node: name, pods },
    { kind: 'beginWait', node: name },
    { kind: 'wait', ms: ATTACH_WAIT_MS },
  ]
}

/** Reports once that other nodes have the volume, unless their attachments are unknown or being deleted. */
function multiAttach({ node, pods, multiAttachReported }: NodeView, others: readonly NodeView[]): readonly NodeStep[] {
  const holders = others.filter(({ attachment }) => attachment !== 'deleting' && attachment !== 'unknown')
  if (multiAttachReported || holders.length === 0) return []
  return [{ kind: 'recordMultiAttach', node, pods, others: holders.map((other) => other.node) }]
}
